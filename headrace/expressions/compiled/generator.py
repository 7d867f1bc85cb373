"""The walk over an expression: which node is compiled by what."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.contract import METADATA, METADATA_RECORD
from headrace.expressions.compiled.fragment import NULL, Fragment, Scope, literal_of
from headrace.expressions.compiled.functions.dispatch import OPERATORS, call
from headrace.expressions.compiled.operators import containers
from headrace.expressions.compiled.operators.coercion import WHOLE
from headrace.expressions.compiled.reordering import is_reordered
from headrace.expressions.compiled.syntax import (
    Binary,
    Call,
    Literal,
    Name,
    Node,
    Part,
    Refused,
)
from headrace.records.rows import attribute

if TYPE_CHECKING:
    from headrace.schema.model import Record


class Generator:
    """The compilation of one expression over records of one schema."""

    def __init__(self, schema: Record) -> None:
        self.scope = Scope()
        self._schema = schema
        if schema.field(METADATA) is not None:
            raise Refused(f'a column "{METADATA}" of the stream itself')

    def value(self, node: Node) -> Fragment:
        """Compile a node and what is below it."""
        match node:
            case Literal():
                return NULL if node.type is None else literal_of(self.scope, node.value, node.type)
            case Name():
                return self._column(node.name)
            case Part():
                return self._part(node)
            case Binary():
                join = OPERATORS[node.operator]
                found = join(self.scope, self.value(node.left), self.value(node.right))
                if found.kind in WHOLE and is_reordered(node):
                    raise Refused(f"{node.operator} of constants that Spark puts together")
                return found
            case Call():
                return call(node.name, self.scope, *map(self.value, node.arguments))

    def _column(self, name: str) -> Fragment:
        if name.lower() == METADATA:
            raise Refused(f"{METADATA} as a whole")
        number = containers.number_of(self._schema, name)
        field = self._schema.fields[number]
        return Fragment(f"r.{attribute(number)}", field.type, field.nullable)

    def _part(self, node: Part) -> Fragment:
        if not isinstance(node.of, Name) or node.of.name.lower() != METADATA:
            return containers.field(self.scope, self.value(node.of), node.name)
        field = METADATA_RECORD.fields[containers.number_of(METADATA_RECORD, node.name)]
        return Fragment(f"m_{field.name}", field.type, field.nullable)
