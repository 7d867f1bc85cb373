"""What a query asks of a table's rows before anything else: simple conditions, all of which hold.

They come from Spark's own plan, and Spark evaluates them again. Here they only spare reading: what
leaves a row out by them must be what Spark leaves out, and what stays in doubt stays in.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, TypeAlias

from headrace.times import DAY_US, format_time_us

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

Test: TypeAlias = Literal["=", "!=", "<", "<=", ">", ">=", "in", "is not null"]
Plain: TypeAlias = bool | int | str
Comparable: TypeAlias = bool | int | str | Decimal

# By Spark's names. A float is none of them: Spark holds NaN for the greatest of numbers and equal
# to itself, while bounds of files leave it out.
COMPARED = ("boolean", "int", "bigint", "string", "date", "timestamp", "timestamp_ntz")


@dataclass(frozen=True, slots=True)
class Condition:
    """One condition on a column, which may lie inside of structs.

    Values are as Spark keeps them: a date in days, a time in microseconds, a decimal as its digits.
    """

    column: tuple[str, ...]
    kind: str
    test: Test
    values: tuple[Plain, ...] = ()

    def __str__(self) -> str:
        """Write the condition as SQL."""
        column = ".".join(self.column)
        shown = [_shown(self.kind, value) for value in self.values]
        match self.test:
            case "is not null":
                return f"{column} IS NOT NULL"
            case "in":
                return f"{column} IN ({', '.join(shown)})"
            case _:
                return f"{column} {self.test} {shown[0]}"

    @property
    def comparables(self) -> tuple[Comparable, ...]:
        """The values as Python compares them."""
        if self.kind.startswith("decimal("):
            return tuple(Decimal(str(value)) for value in self.values)
        return self.values


class Bounds(NamedTuple):
    """Between which values a column lies in a file or a row group, its nulls left out."""

    low: Comparable
    high: Comparable


def is_compared(kind: str) -> bool:
    """Whether values of a type can be compared here as Spark compares them."""
    return kind in COMPARED or kind.startswith("decimal(")


# Whether a value between low and high may meet the test with a value of the condition's.
MAY_MEET: Final[Mapping[Test, Callable[[Any, Any, Any], bool]]] = {
    "=": lambda low, high, value: low <= value <= high,
    "in": lambda low, high, value: low <= value <= high,
    "!=": lambda low, high, value: not low == high == value,
    "<": lambda low, _, value: low < value,
    "<=": lambda low, _, value: low <= value,
    ">": lambda _, high, value: high > value,
    ">=": lambda _, high, value: high >= value,
}


def may_match(conditions: Iterable[Condition], bounds: Iterable[Bounds | None]) -> bool:
    """Whether rows within bounds, one of each condition's column, may meet all; None: unknown."""
    return all(
        within is None
        or not condition.values
        or any(MAY_MEET[condition.test](*within, value) for value in condition.comparables)
        for condition, within in zip(conditions, bounds, strict=True)
    )


def without_what_follows(conditions: Iterable[Condition]) -> tuple[Condition, ...]:
    """Return conditions once each; that a column is not null follows from any other on it."""
    once = list(dict.fromkeys(conditions))
    compared = {one.column for one in once if one.values}
    return tuple(one for one in once if one.values or one.column not in compared)


def _shown(kind: str, value: Plain) -> str:
    match kind, value:
        case "date", int():
            return f"DATE '{format_time_us(value * DAY_US).partition('T')[0]}'"
        case (("timestamp" | "timestamp_ntz"), int()):
            return f"'{format_time_us(value)}'"
        case _, bool():
            return str(value).lower()
        case _, str() if kind == "string":
            quoted = value.replace("'", "''")
            return f"'{quoted}'"
        case _:
            return str(value)
