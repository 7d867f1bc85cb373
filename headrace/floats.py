"""Floating numbers: those of 32 bits, which Python holds in 64, and those that JSON cannot hold."""

from __future__ import annotations

import math
import struct
from typing import Final

_FLOAT: Final = struct.Struct("<f")
_NOT_FINITE: Final = {math.inf: "Infinity", -math.inf: "-Infinity"}


def single(value: float) -> float:
    """Return the nearest number that a float of 32 bits can be; OverflowError where none is."""
    rounded: float = _FLOAT.unpack(_FLOAT.pack(value))[0]
    return rounded


def shortest(value: float) -> float:
    """Return the number that is this float of 32 bits with few digits: 0.1, as Spark writes it."""
    # Nine digits tell any float of 32 bits from the others; six are enough for what people write.
    if not math.isfinite(value):
        return value
    for digits in range(6, 9):
        shown = float(f"{value:.{digits}g}")
        try:
            if single(shown) == value:
                return shown
        except OverflowError:
            # The largest floats, rounded up.
            continue
    return float(f"{value:.9g}")


def json_number(value: float) -> float | str:
    """Return what JSON holds for a number: itself, or the word that Spark writes, too."""
    return value if math.isfinite(value) else _NOT_FINITE.get(value, "NaN")
