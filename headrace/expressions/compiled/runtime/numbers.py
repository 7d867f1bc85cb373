"""Numbers at run time as the JVM counts: two's complement, Java's remainder, Spark's NaN."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Final

from headrace.expressions.compiled.runtime.errors import Undefined

if TYPE_CHECKING:
    from collections.abc import Callable

_LONG_AS_DOUBLE: Final = 2.0**63
LOWEST_LONG: Final = -(2**63)
LARGEST_LONG: Final = 2**63 - 1


def by_zero() -> Undefined:
    """Return what a division by zero is."""
    return Undefined("a division by zero")


def double_equal(left: float, right: float) -> bool:
    """Return whether two doubles are equal; NaN equals NaN."""
    return left == right or (left != left and right != right)  # noqa: PLR0124 - the test for NaN


def double_less(left: float, right: float) -> bool:
    """Return whether one double is less than another; NaN is the largest."""
    return left < right or (right != right and left == left)  # noqa: PLR0124 - as above


def divide(left: float, right: float) -> float:
    """Return a quotient of doubles."""
    if right == 0:
        raise by_zero()
    return left / right


def whole_quotient(left: int, right: int) -> int:
    """Return a quotient of longs, rounded towards zero."""
    if right == 0:
        raise by_zero()
    quotient = abs(left) // abs(right)
    quotient = quotient if (left < 0) == (right < 0) else -quotient
    if quotient > LARGEST_LONG:
        raise Undefined("the result does not fit the type bigint")
    return quotient


def whole_remainder(left: int, right: int) -> int:
    """Return the remainder, with the sign of the dividend."""
    if right == 0:
        raise by_zero()
    rest = abs(left) % abs(right)
    return -rest if left < 0 else rest


def double_remainder(left: float, right: float) -> float:
    """Return the remainder of doubles, with the sign of the dividend."""
    if right == 0:
        raise by_zero()
    if math.isinf(left) or right != right:  # noqa: PLR0124 - the test for NaN
        return math.nan
    return math.fmod(left, right)


def whole_modulus(left: int, right: int, lowest: int) -> int:
    """Return pmod: the remainder, made positive by adding the divisor once, as Java adds."""
    rest = whole_remainder(left, right)
    if rest >= 0:
        return rest
    total = rest + right
    return whole_remainder(total if total >= lowest else total - 2 * lowest, right)


def whole_of_double(value: float, lowest: int, largest: int, name: str) -> int:
    """Cast a double to an int or a long, cutting what is behind the point."""
    fits = math.isfinite(value) and math.floor(value) <= float(largest)
    if not (fits and math.ceil(value) >= lowest):
        raise Undefined(f"{value!r} does not fit the type {name}")
    return min(int(value), largest)


def whole_in(value: int, lowest: int, largest: int, name: str) -> int:
    """Return a whole number that has to lie within bounds."""
    if not lowest <= value <= largest:
        raise Undefined(f"{value} does not fit the type {name}")
    return value


def clamped_floor(value: float) -> int:
    """Return floor as a long, as Java narrows: the nearest long, and 0 for NaN."""
    return _narrowed(value, math.floor)


def clamped_ceil(value: float) -> int:
    """Return ceil as a long, as Java narrows."""
    return _narrowed(value, math.ceil)


def _narrowed(value: float, rounded: Callable[[float], int]) -> int:
    if value != value:  # noqa: PLR0124 - the test for NaN
        return 0
    if value >= _LONG_AS_DOUBLE:
        return LARGEST_LONG
    if value < -_LONG_AS_DOUBLE:
        return LOWEST_LONG
    whole: int = rounded(value)
    return whole


def signum(value: float) -> float:
    """Return Java's signum: zeros and NaN as they are."""
    if value > 0:
        return 1.0
    return -1.0 if value < 0 else value


def rounded(value: int, digits: int) -> int:
    """Round a whole number to a power of ten, half away from zero."""
    unit: int = 10**digits
    result = (abs(value) + unit // 2) // unit * unit
    return -result if value < 0 else result


def rounded_to_even(value: int, digits: int) -> int:
    """Round a whole number to a power of ten, and to the even one of two."""
    unit: int = 10**digits
    result = (value + unit // 2) // unit
    if value % unit * 2 == unit and result % 2:
        result -= 1
    return result * unit


def whole_of_text(text: str, lowest: int, largest: int, name: str) -> int:
    """Read a whole number, as a cast of a text does."""
    number = text.strip(SPACES)
    digits = number[1:] if number[:1] in {"+", "-"} else number
    if not (digits.isascii() and digits.isdigit()):
        raise Undefined(f"the text is no {name}")
    digits = digits.lstrip("0") or "0"
    # Python refuses to read thousands of digits.
    value = int(digits) if len(digits) < 20 else 10**20
    value = -value if number[0] == "-" else value
    if not lowest <= value <= largest:
        raise Undefined(f"the text does not fit the type {name}")
    return value


_JAVA_SPACES: Final = "".join(map(chr, range(33)))
# What UTF8String.trimAll takes off: white space and the control characters of ASCII.
SPACES: Final = "".join(chr(code) for code in (*range(33), 127))


# Nothing is tried twice: a text may be a megabyte of digits.
_NUMBER = re.compile(r"[+-]?(?:[0-9]++\.?[0-9]*+|\.[0-9]++)(?:[eE][+-]?[0-9]++)?+")
_HEXADECIMAL = re.compile(
    r"([+-]?0[xX](?:[0-9a-fA-F]++\.?+|[0-9a-fA-F]*+\.[0-9a-fA-F]++)[pP][+-]?[0-9]++)[fFdD]?"
)
_NAMED: Final = frozenset(["inf", "+inf", "infinity", "+infinity", "-inf", "-infinity", "nan"])


def double_of_text(text: str) -> float:
    """Read a double as Java does, and the names of what is no number in any case."""
    word = text.strip(_JAVA_SPACES)
    number = word[:-1] if word[-1:] in {"d", "D", "f", "F"} else word
    if _NUMBER.fullmatch(number):
        return float(number)
    if word.lower() in _NAMED or word in {"+NaN", "-NaN"}:
        return float(word)
    hexadecimal = _HEXADECIMAL.fullmatch(word)
    if hexadecimal is None:
        raise Undefined("the text is no double")
    try:
        return float.fromhex(hexadecimal[1])
    except OverflowError:
        return -math.inf if word.startswith("-") else math.inf


def boolean_of_text(text: str) -> bool:
    """Read true or false, as a cast of a text does."""
    word = text.strip(SPACES).lower()
    if word in {"t", "true", "y", "yes", "1"}:
        return True
    if word in {"f", "false", "n", "no", "0"}:
        return False
    raise Undefined("the text is no boolean")


def square_root(value: float) -> float:
    """Return the square root, NaN below 0."""
    return math.sqrt(value) if value >= 0 else math.nan


def to_even(value: float) -> float:
    """Return the nearest whole number, the even one of two."""
    if not math.isfinite(value) or abs(value) >= _WHOLE_ALL:
        return value
    return math.copysign(float(round(value)), value)


_WHOLE_ALL: Final = 2.0**52


def factorial(value: int) -> int | None:
    """Return a factorial, null where it does not fit a long."""
    return math.factorial(value) if 0 <= value <= 20 else None


def bucket(value: float, low: float, high: float, count: int) -> int | None:
    """Return width_bucket(): which of some equal parts a value lies in; null for no parts."""
    if not 0 < count < LARGEST_LONG or value != value or low == high:  # noqa: PLR0124 - the test for NaN
        return None
    if not (math.isfinite(low) and math.isfinite(high)):
        return None
    ahead, behind = (value - low, value - high) if low < high else (low - value, high - value)
    if ahead < 0:
        return 0
    if behind >= 0:
        return count + 1
    return _narrowed(float(count) * ahead / abs(high - low), math.trunc) + 1


def shifted_left(value: int, bits: int, width: int) -> int:
    """Return Java's <<."""
    moved = value << (bits & width - 1)
    half = 1 << (width - 1)
    return (moved + half & (1 << width) - 1) - half


def shifted_right(value: int, bits: int, width: int) -> int:
    """Return Java's >>>: zeros come in from the left."""
    bits &= width - 1
    return (value & (1 << width) - 1) >> bits if bits else value
