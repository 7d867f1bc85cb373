from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.expressions.compiled.runtime.moments import (
    timestamp_text,
    timestamp_text_of_any_year,
)
from headrace.times import FIRST_US, LAST_US


@given(
    st.one_of(st.integers(FIRST_US, LAST_US), st.integers(-(2**63), 2**63 - 1)), st.integers(0, 6)
)
def test_what_is_looked_up_is_what_is_computed(micros: int, zeros: int) -> None:
    rounded = max(micros // 10**zeros * 10**zeros, -(2**63))
    assert timestamp_text(rounded) == timestamp_text_of_any_year(rounded)


@pytest.mark.parametrize(
    ("micros", "text"),
    [
        (0, "1970-01-01 00:00:00"),
        (100_000, "1970-01-01 00:00:00.1"),
        (-1, "1969-12-31 23:59:59.999999"),
        (FIRST_US, "0001-01-01 00:00:00"),
        (FIRST_US - 1, "0000-12-31 23:59:59.999999"),
        (LAST_US, "9999-12-31 23:59:59.999999"),
        (LAST_US + 1, "+10000-01-01 00:00:00"),
    ],
)
def test_the_ends_of_the_calendar(micros: int, text: str) -> None:
    assert timestamp_text(micros) == text
