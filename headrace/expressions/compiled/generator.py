"""The walk over an expression: which node is compiled by what."""

from __future__ import annotations

import decimal
from typing import TYPE_CHECKING

from headrace.contract import METADATA, METADATA_RECORD
from headrace.expressions.lane import arithmetic, choices, conditions, containers
from headrace.expressions.lane.calls import call
from headrace.expressions.lane.casts import named_cast
from headrace.expressions.lane.coerce import BOOLEAN, DOUBLE, INT, LONG, STRING, decimal_type
from headrace.expressions.lane.lists import held
from headrace.expressions.lane.nodes import (
    Binary,
    Call,
    Case,
    Cast,
    Item,
    Literal,
    Name,
    Part,
    Refused,
    Unary,
)
from headrace.expressions.lane.texts import concat
from headrace.expressions.lane.tries import try_cast
from headrace.expressions.lane.value import NULL, Scope, Value, literal_of
from headrace.expressions.lane.words import LARGEST_INT
from headrace.records.rows import attribute

if TYPE_CHECKING:
    from headrace.expressions.lane.nodes import Node
    from headrace.schema.model import Record, Type

_COMPARISONS = frozenset(["=", "<>", "<", "<=", ">", ">="])


class Tree:
    """The compilation of one expression over records of one schema."""

    def __init__(self, schema: Record) -> None:
        self.scope = Scope()
        self._schema = schema
        if schema.field(METADATA) is not None:
            raise Refused(f'a column "{METADATA}" of the stream itself')

    def typed(self, node: Node) -> tuple[Value, Type]:
        """Compile the whole, which has to have a type."""
        value = self.value(node)
        if value.type is None:
            raise Refused("a NULL of no type")
        return value, value.type

    def value(self, node: Node) -> Value:
        """Compile a node and what is below it."""
        match node:
            case Literal():
                return self._literal(node)
            case Name():
                return self._column(node.name)
            case Part():
                return self._part(node)
            case Item():
                return containers.item(self.scope, self.value(node.of), self.value(node.index))
            case Unary():
                return self._unary(node.sign, self.value(node.operand))
            case Binary():
                return self._binary(node)
            case Cast():
                make = try_cast if node.is_try else named_cast
                return make(node.to, self.scope, self.value(node.operand))
            case Call():
                values = [self.value(one) for one in node.arguments]
                return call(self.scope, node.name, values)
            case Case():
                return self._case(node)

    def _literal(self, node: Literal) -> Value:
        value = node.value
        match value:
            case None:
                return NULL
            case bool():
                return literal_of(self.scope, value, BOOLEAN)
            case int():
                is_int = not node.is_long and -LARGEST_INT - 1 <= value <= LARGEST_INT
                return literal_of(self.scope, value, INT if is_int else LONG)
            case float():
                return literal_of(self.scope, value, DOUBLE)
            case decimal.Decimal():
                return literal_of(self.scope, value, decimal_type(value))
        return literal_of(self.scope, value, STRING)

    def _column(self, name: str) -> Value:
        if name.lower() == METADATA:
            raise Refused(f"{METADATA} as a whole")
        number = containers.number_of(self._schema, name)
        field = self._schema.fields[number]
        return Value(f"r.{attribute(number)}", field.type, field.nullable)

    def _part(self, node: Part) -> Value:
        if not isinstance(node.of, Name) or node.of.name.lower() != METADATA:
            return containers.field(self.scope, self.value(node.of), node.name)
        field = METADATA_RECORD.fields[containers.number_of(METADATA_RECORD, node.name)]
        return Value(f"m_{field.name}", field.type, field.nullable)

    def _unary(self, sign: str, value: Value) -> Value:
        match sign:
            case "not":
                asked = conditions.condition(value, "NOT")
                return conditions.negation(self.scope, asked)
            case "-":
                return arithmetic.negative(self.scope, value)
            case "~":
                return arithmetic.inverted(self.scope, value)
        return arithmetic.positive(self.scope, value)

    def _binary(self, node: Binary) -> Value:
        sign = node.sign
        if sign == "||":
            return concat(self.scope, *(self.value(one) for one in _operands(node)))
        left, right = self.value(node.left), self.value(node.right)
        if sign in _COMPARISONS:
            return conditions.compare(self.scope, sign, left, right)
        match sign:
            case "and" | "or":
                asked = [conditions.condition(one, sign.upper()) for one in (left, right)]
                join = conditions.both if sign == "and" else conditions.either
                return join(self.scope, *asked)
            case "<=>":
                return conditions.same(self.scope, left, right)
        if sign == "<<":
            return arithmetic.shifted(sign, self.scope, left, right)
        return arithmetic.by_sign(sign, self.scope, left, right)

    def _case(self, node: Case) -> Value:
        otherwise = NULL if node.otherwise is None else self.value(node.otherwise)
        if node.value is None:
            branches = [(self.value(asked), self.value(result)) for asked, result in node.branches]
            return choices.case(self.scope, branches, otherwise)
        value, wrap = held(self.scope, self.value(node.value))
        branches = [
            (conditions.compare(self.scope, "=", value, self.value(asked)), self.value(result))
            for asked, result in node.branches
        ]
        return wrap(choices.case(self.scope, branches, otherwise))


def _operands(node: Node) -> list[Node]:
    """Return what a chain of || puts together."""
    found: list[Node] = []
    while isinstance(node, Binary) and node.sign == "||":
        found.append(node.right)
        node = node.left
    return [node, *reversed(found)]
