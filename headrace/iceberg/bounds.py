"""Bounds as Iceberg keeps them: by the type that the column had when the file was written."""

from __future__ import annotations

from headrace.times import DAY_US


def time_bound(value: bytes | None) -> int | None:
    """Return a bound on a column of times in microseconds; None where it is not known.

    A column that was a date when the file was written has days, in four bytes.
    """
    units_us = {8: 1, 4: DAY_US}
    if value is None or len(value) not in units_us:
        return None
    return int.from_bytes(value, "little", signed=True) * units_us[len(value)]
