"""Values as people read them on a page: numbers with separators and units, times in UTC."""

from __future__ import annotations

from typing import Final

from markupsafe import Markup

from headrace.times import SECOND_US, parse_time_us

UNKNOWN: Final = "\N{EN DASH}"
_NO_TIME: Final = Markup("\N{EN DASH}")
KIB: Final = 1024
MINUTE_S, HOUR_S, DAY_S = 60, 3_600, 86_400
SMALLEST_COIN: Final = 0.01
MARKS: Final = frozenset(
    {"running", "failed", "starting", "stopped", "complete", "new", "cancelled"}
)


def number(value: float | None) -> str:
    """Return a count with separators; a dash for what is not known."""
    return UNKNOWN if value is None else f"{value:,}"


def rate(value: float | None) -> str:
    """Return records a second."""
    if value is None:
        return UNKNOWN
    return number(round(value)) if value >= 10 or value == 0 else f"{value:.1f}"


def size(value: float | None) -> str:
    """Return bytes in the unit that fits."""
    if value is None:
        return UNKNOWN
    for unit in ("B", "KiB", "MiB", "GiB"):
        if value < KIB:
            return f"{value:,.0f} {unit}" if unit == "B" else f"{value:,.1f} {unit}"
        value /= KIB
    return f"{value:,.1f} TiB"


def duration(value_s: float | None) -> str:
    """Return a span of time in its two largest units."""
    if value_s is None:
        return UNKNOWN
    if 0 < value_s < 1:
        return f"{value_s:.3f} s"
    whole = round(value_s)
    if whole < MINUTE_S:
        return f"{whole} s"
    if whole < HOUR_S:
        return _two(whole, MINUTE_S, "min", 1, "s")
    if whole < DAY_S:
        return _two(whole, HOUR_S, "h", MINUTE_S, "min")
    return _two(whole, DAY_S, "d", HOUR_S, "h")


def _two(whole: int, large: int, large_unit: str, small: int, small_unit: str) -> str:
    rest = whole % large // small
    return f"{whole // large} {large_unit}" + (f" {rest} {small_unit}" if rest else "")


def money(value: float | None, currency: str | None) -> str:
    """Return an amount: two digits behind the point, and more of what is less than that."""
    if value is None or currency is None:
        return UNKNOWN
    if value and value < SMALLEST_COIN:
        return f"{float(f'{value:.2g}'):.12f}".rstrip("0").rstrip(".") + f" {currency}"
    return f"{value:,.2f} {currency}"


def time(text: str | None) -> Markup:
    """Return a time of the API for a person: the date, and the time to the second."""
    if text is None:
        return _NO_TIME
    day, _, rest = text.partition("T")
    return Markup('<time datetime="{}Z">{} {}</time>').format(text[:19], day, rest[:8])


def seconds_between(earlier: str, later: str) -> float:
    """Return how much time is between two times of the API."""
    return (parse_time_us(later) - parse_time_us(earlier)) / SECOND_US


def mark(state: str) -> Markup:
    """Return a state: a shape and a word, beside the colour that the style gives it."""
    kind = state if state in MARKS else "new"
    return Markup('<span class="st {}">{}</span>').format(kind, state)


def location(text: str) -> Markup:
    """Return a location (`kafka:CLUSTER/TOPIC`) with its parts told apart."""
    scheme, _, rest = text.partition(":")
    head, slash, tail = rest.rpartition("/")
    if scheme == "kafka" and slash:
        return Markup('<span class="loc"><i>{}/</i>{}</span>').format(head, tail)
    return Markup('<span class="loc"><i>{}</i> {}</span>').format(scheme, rest)


def key_of(*parts: str) -> str:
    """Return the id of an element about something: what its name has beside letters is spelled."""
    return "-".join(
        "".join(one if one.isalnum() else f"_{ord(one):x}" for one in part) for part in parts
    )
