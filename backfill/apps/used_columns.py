"""What an application uses of its tables, read off Spark's own plan of it.

Spark pushes neither columns nor filters into a streaming read. Its optimizer brings both to just
above the tables all the same, in SQL and in Python alike, below a watermark where that changes
nothing. So what is found there is what Spark does itself with every batch.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from backfill.plan.conditions import Condition, is_compared, without_what_follows
from headrace.jvm.plans import analyzed, each, kind_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from pyspark.sql import DataFrame

    from backfill.plan.conditions import Test
    from headrace.jvm.plans import Java

    Plain: TypeAlias = bool | int | str | None

_TESTS: Mapping[str, tuple[Test, Test]] = {
    # By the name of Spark's class: the test, and the test with its sides exchanged.
    "EqualTo": ("=", "="),
    "LessThan": ("<", ">"),
    "LessThanOrEqual": ("<=", ">="),
    "GreaterThan": (">", "<"),
    "GreaterThanOrEqual": (">=", "<="),
}
# They show nothing of what lies below them but what they name.
_NAME_ALL = ("Project", "Aggregate")
_PASS_ON = ("Filter", "EventTimeWatermark")


class TableUse(NamedTuple):
    """What is used of a table: which columns, None for all, and of rows that meet which conditions."""

    columns: frozenset[str] | None
    conditions: tuple[Condition, ...]


def table_uses(result: DataFrame) -> dict[str, TableUse]:
    """Return what a streaming result uses of each table that the format `headrace` reads for it.

    Of a table that it reads twice: what either needs, of rows that meet what both ask.
    """
    session: Java = result.sparkSession
    plan = analyzed(result)
    optimized = session._jsparkSession.sessionState().optimizer().execute(plan)  # noqa: SLF001 - the plan has no public name in Python
    catalyst = session._jvm.org.apache.spark.sql.catalyst  # noqa: SLF001 - as above
    # The plan would show the time of now as a constant, and each batch has another one. So it is
    # with texts that are cast to a time: 'today', for one.
    timeless = not plan.containsPattern(
        catalyst.trees.TreePattern.CURRENT_LIKE()
    ) and catalyst.optimizer.SpecialDatetimeValues.apply(plan).fastEquals(plan)
    found: dict[str, TableUse] = {}
    for table, used in _leaves(optimized, ()):
        one = used if timeless else TableUse(used.columns, ())
        found[table] = one if table not in found else _both(found[table], one)
    return found


def _both(one: TableUse, other: TableUse) -> TableUse:
    columns = None
    if one.columns is not None and other.columns is not None:
        columns = one.columns | other.columns
    common = tuple(condition for condition in one.conditions if condition in other.conditions)
    return TableUse(columns, common)


def _leaves(node: Java, above: Sequence[Java]) -> Iterator[tuple[str, TableUse]]:
    if kind_of(node) == "StreamingRelationV2":
        table = node.extraOptions().get("table")
        if table is not None:
            yield table, _used(node, above)
        return
    for child in each(node.children()):
        yield from _leaves(child, (*above, node))


def _used(leaf: Java, above: Sequence[Java]) -> TableUse:
    names = {one.exprId().id(): str(one.name()) for one in each(leaf.output())}
    columns: set[str] = set()
    conditions: list[Condition] = []
    only_filters = True
    for node in reversed(above):
        kind = kind_of(node)
        if kind not in {*_NAME_ALL, *_PASS_ON}:
            break
        only_filters = only_filters and kind == "Filter"
        for one in _conjuncts(node.condition()) if only_filters else ():
            # What follows rand() is asked after it, of the rows that it was drawn for.
            only_filters = only_filters and one.deterministic()
            found = _Reading(names).condition(one) if only_filters else None
            conditions += [] if found is None else [found]
        columns |= {
            names[number]
            for one in each(node.references().toSeq())
            if (number := one.exprId().id()) in names
        }
        if kind in _NAME_ALL:
            return TableUse(frozenset(columns), without_what_follows(conditions))
    return TableUse(None, without_what_follows(conditions))


def _conjuncts(expression: Java) -> Iterator[Java]:
    """Yield the conditions all of which hold, in the order in which Spark asks them."""
    if kind_of(expression) == "And":
        yield from _conjuncts(expression.left())
        yield from _conjuncts(expression.right())
    else:
        yield expression


class _Reading:
    """Reads expressions over the columns of a table; what it does not know is None."""

    def __init__(self, names: Mapping[int, str]) -> None:
        self._names = names

    def condition(self, expression: Java, *, is_not: bool = False) -> Condition | None:
        match kind_of(expression):
            case "AttributeReference" | "GetStructField":
                return self._one(expression, "=", "boolean", [not is_not])
            case "EqualTo" if is_not:
                return self._compared("!=", "!=", expression.left(), expression.right())
            case _ if is_not:
                return None
            case "IsNotNull":
                path = self._path(expression.child())
                return None if path is None else Condition(path, "", "is not null")
            case "In":
                return self._among(expression.value(), list(each(expression.list())))
            case "InSet":
                kind = expression.child().dataType().catalogString()
                values = [_plain(kind, one) for one in each(expression.hset())]
                return self._one(expression.child(), "in", kind, values)
            case "Not":
                return self.condition(expression.child(), is_not=True)
            case name if name in _TESTS:
                return self._compared(*_TESTS[name], expression.left(), expression.right())
            case _:
                return None

    def _compared(self, test: Test, turned: Test, left: Java, right: Java) -> Condition | None:
        if self._path(left) is None:
            left, right, test = right, left, turned
        kind = left.dataType().catalogString()
        if right.dataType().catalogString() != kind:
            return None
        return self._one(left, test, kind, [_literal(right)])

    def _among(self, column: Java, values: list[Java]) -> Condition | None:
        kind = column.dataType().catalogString()
        if any(one.dataType().catalogString() != kind for one in values):
            return None
        return self._one(column, "in", kind, [_literal(one) for one in values])

    def _one(self, column: Java, test: Test, kind: str, values: list[Plain]) -> Condition | None:
        path = self._path(column)
        known = [value for value in values if value is not None]
        if path is None or not known or len(known) < len(values) or not is_compared(kind):
            return None
        return Condition(path, kind, test, tuple(sorted(known, key=str)))

    def _path(self, expression: Java) -> tuple[str, ...] | None:
        match kind_of(expression):
            case "AttributeReference":
                name = self._names.get(expression.exprId().id())
                return None if name is None else (name,)
            case "GetStructField":
                outer = self._path(expression.child())
                inner = expression.childSchema().fields()[expression.ordinal()].name()
                return None if outer is None else (*outer, str(inner))
            case _:
                return None


def _literal(expression: Java) -> Plain:
    if kind_of(expression) != "Literal":
        return None
    return _plain(expression.dataType().catalogString(), expression.value())


def _plain(kind: str, value: Java) -> Plain:
    if value is None or isinstance(value, (bool, int)):
        return value
    if kind != "string" and not kind.startswith("decimal("):
        return None
    # Spark's own texts and decimals. Bytes that are no UTF-8 are shown as this character.
    shown = str(value.toString())
    return None if "\ufffd" in shown else shown
