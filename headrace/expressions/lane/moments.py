"""Functions of dates and timestamps that depend on a unit or a format; the time zone is UTC."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from headrace.expressions.lane import run_dates, run_moments
from headrace.expressions.lane.casts import as_kind, named_cast
from headrace.expressions.lane.coerce import DATE, INT, LOCAL, LONG, STRING, TIMESTAMP, WHOLE
from headrace.expressions.lane.formats import reader, writer
from headrace.expressions.lane.nodes import Refused
from headrace.expressions.lane.run_moments import DAY_US
from headrace.expressions.lane.table import ROWS
from headrace.expressions.lane.undefined import overflow
from headrace.expressions.lane.value import NULL, Value, lift, literal_of, need

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from headrace.expressions.lane.value import Scope

_HOUR_US: Final = 3_600_000_000
_STEPS: Final = {
    "microsecond": 1,
    "millisecond": 1000,
    "second": 1_000_000,
    "minute": 60_000_000,
    "hour": _HOUR_US,
    "day": DAY_US,
    "dd": DAY_US,
}
_STARTS: Final[Mapping[str, Callable[[int], int]]] = {
    **dict.fromkeys(("year", "yyyy", "yy"), run_moments.year_start),
    **dict.fromkeys(("month", "mm", "mon"), run_moments.month_start),
    "quarter": run_moments.quarter_start,
    "week": run_moments.week_start,
}
_UNITS: Final = {**_STEPS, "week": 7 * DAY_US, "dayofyear": DAY_US}
_MONTHS: Final = {"month": 1, "quarter": 3, "year": 12}
_PARTS: Final = {
    "year": "year years y yr yrs",
    "quarter": "quarter qtr",
    "month": "month months mon mons",
    "weekofyear": "week weeks w",
    "day": "day days d",
    "dayofweek": "dayofweek dow",
    "dayofyear": "doy",
    "hour": "hour hours h hr hrs",
    "minute": "minute minutes m min mins",
}
_PART_OF: Final = {name: part for part, names in _PARTS.items() for name in names.split()}


def _moment(scope: Scope, value: Value, what: str) -> Value:
    return value if value.kind in {TIMESTAMP, LOCAL} else as_kind(scope, value, TIMESTAMP, what)


def _word(value: Value, what: str) -> str:
    if not isinstance(value.literal, str):
        raise Refused(f"{what} by what is no text in quotes")
    return value.literal


def part(scope: Scope, unit: Value, value: Value) -> Value:
    """Compile `extract` and `date_part`."""
    name = _PART_OF.get(_word(unit, "extract()").lower())
    if name is None:
        raise Refused(f"extract() of {unit.literal}")
    need(value, [DATE, TIMESTAMP, LOCAL], "extract()")
    return ROWS[name].compiled(scope, [value])


def truncated(scope: Scope, unit: Value, value: Value) -> Value:
    """Compile `date_trunc` of a timestamp, to a unit that is known."""
    value = as_kind(scope, value, TIMESTAMP, "date_trunc()")
    name = _word(unit, "date_trunc()").lower()
    if name in _STEPS:
        step, result, fail = _STEPS[name], scope.temporary(), scope.helper(overflow)
        source = f"({result} := {{}} // {step} * {step})"
        build = f"{result} if {source} >= {-(2**63)} else {fail}('timestamp')".format
        return lift(scope, [value], TIMESTAMP, build, declared=True)
    if name not in _STARTS:
        raise Refused(f"date_trunc() to '{name}'")
    start = scope.helper(_STARTS[name])
    source = f"{scope.helper(run_moments.start_of_day)}({start}({{}} // {DAY_US}))"
    return lift(scope, [value], TIMESTAMP, source.format, declared=True)


def truncated_date(scope: Scope, value: Value, unit: Value) -> Value:
    """Compile `trunc` of a date, to a unit that is known."""
    name = _word(unit, "trunc()").lower()
    if name not in _STARTS:
        raise Refused(f"trunc() to '{name}'")
    start = scope.helper(_STARTS[name])
    date = as_kind(scope, value, DATE, "trunc()")
    return lift(scope, [date], DATE, lambda x: f"{start}({x})", declared=True)


def days_later(sign: str, scope: Scope, start: Value, days: Value) -> Value:
    """Compile `date_add` and `date_sub`."""
    values = [
        as_kind(scope, start, DATE, "date_add()"),
        as_kind(scope, days, INT, "date_add()"),
    ]
    function = scope.helper(run_moments.days_later)
    return lift(scope, values, DATE, lambda a, b: f"{function}({a}, {sign}{b})")


def later(scope: Scope, unit: Value, count: Value, value: Value) -> Value:
    """Compile `timestampadd`."""
    name = _word(unit, "timestampadd()").lower()
    start = _moment(scope, value, "timestampadd()")
    number = as_kind(scope, need(count, WHOLE, "timestampadd()"), LONG, "timestampadd()")
    kind = LOCAL if start.kind is LOCAL else TIMESTAMP
    if name in _MONTHS:
        need(count, [INT], "timestampadd()")
        function, each = scope.helper(run_dates.moment_months_later), _MONTHS[name]
    elif name in _UNITS:
        function, each = scope.helper(run_moments.micros_later), _UNITS[name]
    else:
        raise Refused(f"timestampadd() of {name}")
    build = f"{function}({{1}}, {{0}} * {each})".format
    return lift(scope, [number, start], kind, build, fails=True)


def units_between(scope: Scope, unit: Value, start: Value, end: Value) -> Value:
    """Compile `timestampdiff`: whole units, towards zero."""
    name = _word(unit, "timestampdiff()").lower()
    values = [_moment(scope, one, "timestampdiff()") for one in (start, end)]
    if values[0].kind is not values[1].kind:
        raise Refused("timestampdiff() of two kinds of timestamps")
    if name in _MONTHS:
        between, each = scope.helper(run_dates.months_from), _MONTHS[name]
        return lift(scope, values, LONG, lambda a, b: f"int({between}({a}, {b}) / {each})")
    if name not in _UNITS:
        raise Refused(f"timestampdiff() of {name}")
    whole = scope.helper(run_moments.whole_units)
    return lift(scope, values, LONG, lambda a, b: f"{whole}({b} - {a}, {_UNITS[name]})", fails=True)


def formatted(scope: Scope, value: Value, pattern: Value) -> Value:
    """Compile `date_format` in a format of digits."""
    name = scope.helper(writer(_word(pattern, "date_format()")))
    moment = as_kind(scope, value, TIMESTAMP, "date_format()")
    return lift(scope, [moment], STRING, lambda x: f"{name}({x})", fails=True)


def formatted_seconds(scope: Scope, value: Value, pattern: Value | None = None) -> Value:
    """Compile `from_unixtime`."""
    name = scope.helper(writer(_SHOWN if pattern is None else _word(pattern, "from_unixtime()")))
    seconds = as_kind(scope, value, LONG, "from_unixtime()")
    exactly = scope.helper(run_moments.micros_exactly)
    build = f"{name}({exactly}({{}}, 1000000))".format
    return lift(scope, [seconds], STRING, build, fails=True, declared=True)


_SHOWN: Final = "yyyy-MM-dd HH:mm:ss"


def seconds_of(scope: Scope, value: Value, pattern: Value | None = None) -> Value:
    """Compile `unix_timestamp` of a time, or of a text in a format."""
    if value.kind is STRING:
        shown = literal_of(scope, _SHOWN, STRING) if pattern is None else pattern
        value = read(scope, value, shown)
    need(value, [DATE, TIMESTAMP, LOCAL], "unix_timestamp()")
    moment = as_kind(scope, value, TIMESTAMP, "unix_timestamp()")
    # Other than unix_seconds it rounds towards 1970.
    whole = scope.helper(run_moments.whole_units)
    return lift(scope, [moment], LONG, lambda x: f"{whole}({x}, 1000000)")


def read(scope: Scope, value: Value, pattern: Value | None = None) -> Value:
    """Compile `to_timestamp`."""
    if pattern is None or value.kind is not STRING:
        return named_cast("timestamp", scope, value)
    name = scope.helper(reader(_word(pattern, "to_timestamp()")))
    return lift(scope, [value], TIMESTAMP, lambda x: f"{name}({x})", fails=True)


def timestamp_of_seconds(scope: Scope, value: Value) -> Value:
    """Compile `timestamp_seconds` of whole numbers."""
    if value.kind is None:
        return Value(NULL.source, TIMESTAMP, nullable=True, literal=None)
    need(value, WHOLE, "timestamp_seconds()")
    exactly = scope.helper(run_moments.micros_exactly)
    return lift(scope, [value], TIMESTAMP, lambda x: f"{exactly}({x}, 1000000)", fails=True)
