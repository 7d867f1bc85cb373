"""Bounds on times are read by the type that the column had when the file was written."""

from __future__ import annotations

import struct

import pytest

from headrace.iceberg.scans import time_bound
from headrace.times import DAY_US


@pytest.mark.parametrize(
    ("kept", "meant"),
    [
        (None, None),
        (struct.pack("<q", -1), -1),
        (struct.pack("<q", 1_772_323_200_000_000), 1_772_323_200_000_000),
        # A date that was promoted to a timestamp.
        (struct.pack("<i", 20_513), 20_513 * DAY_US),
        (struct.pack("<i", -1), -DAY_US),
        (b"", None),
        (b"\x01" * 16, None),
    ],
)
def test_a_bound_is_what_its_length_says(kept: bytes | None, meant: int | None) -> None:
    assert time_bound(kept) == meant
