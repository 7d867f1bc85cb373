"""How far back an application looks: its windows, its sessions, the intervals of its joins.

Read off Spark's plan, which is the same for SQL and for Python. What a function of the author's own
keeps in mind (transformWithState) it does not tell.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Final

from headrace.jvm_plans import analyzed, expressions, kind_of, with_subqueries

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from headrace.jvm_plans import Java

MICROSECOND: Final = timedelta(microseconds=1)
DAY_US: Final = 86_400_000_000
# What a month of an interval is at the most.
MONTH_US: Final = 31 * DAY_US
WITH_STATE: Final = ("TransformWithState", "FlatMapGroups")


@dataclass(frozen=True, slots=True)
class Reach:
    """The longest time that a query's plan names, and whether it keeps state of its own."""

    longest_us: int
    has_own_state: bool


def reach_of(result: DataFrame) -> Reach:
    """Return how far a query looks."""
    nodes = list(with_subqueries(analyzed(result)))
    lengths = (_length_us(one) for node in nodes for one in expressions(node))
    return Reach(
        max(lengths, default=0), any(kind_of(node).startswith(WITH_STATE) for node in nodes)
    )


def too_short(
    reach: Reach, delay: timedelta, warmup: timedelta, cooldown: timedelta
) -> list[tuple[str, int]]:
    """Return which of warm-up and cool-down are too short, each with what would do."""
    if reach.longest_us == 0:
        return []
    needed_us = reach.longest_us + delay // MICROSECOND
    wanted = (("--warmup", warmup), ("--cooldown", cooldown))
    return [(name, needed_us) for name, given in wanted if given // MICROSECOND < needed_us]


def _length_us(expression: Java) -> int:
    """Return the time that an expression is about, 0 for most."""
    match kind_of(expression):
        case "PreciseTimestampConversion" if kind_of(expression.child()) == "Add":
            # A window's end: its start and so much.
            length = expression.child().right()
            return int(length.value()) if kind_of(length) == "Literal" else 0
        case "Literal" | "Cast" if "interval" in expression.dataType().typeName():
            return _interval_us(expression) if expression.foldable() else 0
        case _:
            return 0


def _interval_us(expression: Java) -> int:
    value = expression.eval(None)
    if value is None:
        return 0
    if isinstance(value, int):
        is_months = "month" in expression.dataType().typeName()
        return abs(value) * (MONTH_US if is_months else 1)
    days, months = value.extractAsPeriod().getDays(), value.extractAsPeriod().toTotalMonths()
    below_us = value.extractAsDuration().toMillis() * 1000
    return int(abs(months) * MONTH_US + abs(days) * DAY_US + abs(below_us))
