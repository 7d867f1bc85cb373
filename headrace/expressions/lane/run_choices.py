"""The greatest and the least of values at run time; nulls are passed over."""

from __future__ import annotations

from functools import cmp_to_key
from typing import Any, Final

from headrace.expressions.lane.run_numbers import double_less


def greatest(*values: Any) -> Any:  # noqa: ANN401 - whatever is compared
    """Return the greatest value, the first of equal ones."""
    return max((one for one in values if one is not None), default=None)


def least(*values: Any) -> Any:  # noqa: ANN401 - as above
    """Return the least value, the first of equal ones."""
    return min((one for one in values if one is not None), default=None)


def greatest_double(*values: float | None) -> float | None:
    """Return the greatest double; NaN is greater than any."""
    return max((one for one in values if one is not None), default=None, key=_ORDER)


def least_double(*values: float | None) -> float | None:
    """Return the least double."""
    return min((one for one in values if one is not None), default=None, key=_ORDER)


def _compared(left: float, right: float) -> int:
    return -1 if double_less(left, right) else int(double_less(right, left))


_ORDER: Final = cmp_to_key(_compared)
