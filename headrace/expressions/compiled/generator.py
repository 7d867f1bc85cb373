"""The walk over an expression: which node is compiled by what."""

from __future__ import annotations

import decimal
from typing import TYPE_CHECKING

from headrace.contract import METADATA, METADATA_RECORD
from headrace.expressions.compiled.fragment import NULL, Fragment, Scope, literal_of
from headrace.expressions.compiled.functions.dispatch import call
from headrace.expressions.compiled.functions.texts import concat
from headrace.expressions.compiled.operators import arithmetic, choices, conditions, containers
from headrace.expressions.compiled.operators.casts import named_cast, try_cast
from headrace.expressions.compiled.operators.coercion import (
    BOOLEAN,
    DOUBLE,
    INT,
    LONG,
    STRING,
    WHOLE,
    decimal_type,
)
from headrace.expressions.compiled.operators.membership import evaluated_once
from headrace.expressions.compiled.reordering import is_reordered
from headrace.expressions.compiled.syntax import (
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
from headrace.records.rows import attribute

if TYPE_CHECKING:
    from headrace.expressions.compiled.syntax import Node
    from headrace.schema.model import Record, Type

_COMPARISONS = frozenset(["=", "<>", "<", "<=", ">", ">="])


class Generator:
    """The compilation of one expression over records of one schema."""

    def __init__(self, schema: Record) -> None:
        self.scope = Scope()
        self._schema = schema
        if schema.field(METADATA) is not None:
            raise Refused(f'a column "{METADATA}" of the stream itself')

    def typed(self, node: Node) -> tuple[Fragment, Type]:
        """Compile the whole, which has to have a type."""
        value = self.value(node)
        if value.type is None:
            raise Refused("a NULL of no type")
        return value, value.type

    def value(self, node: Node) -> Fragment:
        """Compile a node and what is below it."""
        match node:
            case Literal():
                return self._literal(node)
            case Name():
                return self._column(node.name)
            case Part():
                return self._part(node)
            case Item():
                return containers.item(
                    "[]", self.scope, self.value(node.of), self.value(node.index)
                )
            case Unary():
                return self._unary(node.operator, self.value(node.operand))
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

    def _literal(self, node: Literal) -> Fragment:
        value = node.value
        match value:
            case None:
                return NULL
            case bool():
                return literal_of(self.scope, value, BOOLEAN)
            case int():
                is_int = not node.is_long and -(2**31) <= value < 2**31
                return literal_of(self.scope, value, INT if is_int else LONG)
            case float():
                return literal_of(self.scope, value, DOUBLE)
            case decimal.Decimal():
                return literal_of(self.scope, value, decimal_type(value))
        return literal_of(self.scope, value, STRING)

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

    def _unary(self, operator: str, value: Fragment) -> Fragment:
        if operator == "not":
            return conditions.negation(self.scope, conditions.condition(value, "NOT"))
        return call(self.scope, operator, [value])

    def _binary(self, node: Binary) -> Fragment:
        operator = node.operator
        if operator == "||":
            return concat(self.scope, *(self.value(one) for one in _operands(node)))
        left, right = self.value(node.left), self.value(node.right)
        if operator in _COMPARISONS:
            return conditions.compare(self.scope, operator, left, right)
        match operator:
            case "and" | "or":
                both = [conditions.condition(one, operator.upper()) for one in (left, right)]
                join = conditions.both if operator == "and" else conditions.either
                return join(self.scope, *both)
            case "<=>":
                return conditions.same(self.scope, left, right)
        if operator == "<<":
            return call(self.scope, "shiftleft", [left, right])
        found = arithmetic.by_operator(operator, self.scope, left, right)
        if found.kind in WHOLE and is_reordered(node):
            raise Refused(f"{operator} of constants that Spark puts together")
        return found

    def _case(self, node: Case) -> Fragment:
        otherwise = NULL if node.otherwise is None else self.value(node.otherwise)
        if node.value is None:
            branches = [
                (self.value(condition), self.value(result)) for condition, result in node.branches
            ]
            return choices.case(self.scope, branches, otherwise)
        value, wrap = evaluated_once(self.scope, self.value(node.value))
        branches = [
            (conditions.compare(self.scope, "=", value, self.value(condition)), self.value(result))
            for condition, result in node.branches
        ]
        return wrap(choices.case(self.scope, branches, otherwise))


def _operands(node: Node) -> list[Node]:
    """Return what a chain of || puts together."""
    found: list[Node] = []
    while isinstance(node, Binary) and node.operator == "||":
        found.append(node.right)
        node = node.left
    return [node, *reversed(found)]
