from __future__ import annotations

import datetime as dt

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backfill.plan.period import Period, parse_period
from headrace.errors import UsageError
from headrace.times import EPOCH, format_time_us, parse_time_us

DAY_US = 86_400_000_000


@pytest.mark.parametrize(
    ("text", "time_us"),
    [
        ("1970-01-01T00:00:00Z", 0),
        ("1970-01-01", 0),
        ("1970-01-02 00:00", DAY_US),
        ("1970-01-01T00:00:00.000001", 1),
        (" 1970-01-01T02:00:00+02:00 ", 0),
        ("1969-12-31T23:59:59.999999Z", -1),
        ("2026-03-01T00:00:00Z", 1_772_323_200_000_000),
    ],
)
def test_iso_8601_in_utc(text: str, time_us: int) -> None:
    assert parse_time_us(text) == time_us


@pytest.mark.parametrize("text", ["", "yesterday", "2026-13-01", "1772323200000", "2026-03-01T25"])
def test_what_is_no_time(text: str) -> None:
    with pytest.raises(UsageError, match="is not a time") as caught:
        parse_time_us(text)
    assert "2026-03-01T00:00:00Z" in caught.value.advice


def microseconds(year: int) -> int:
    return (dt.datetime(year, 1, 1, tzinfo=dt.UTC) - EPOCH) // dt.timedelta(microseconds=1)


@given(st.integers(microseconds(1), microseconds(9999)))
def test_a_time_is_read_as_it_was_written(time_us: int) -> None:
    text = format_time_us(time_us)
    assert parse_time_us(text) == time_us
    assert len(text) == len("2026-03-01T00:00:00.000000Z")


@pytest.mark.parametrize(
    ("time_us", "text"),
    [
        (999_999_999_999_999_999, "+33658-09-27T01:46:39.999999Z"),
        (253_402_300_800_000_000, "+10000-01-01T00:00:00.000000Z"),
        (-62_135_596_800_000_001, "0000-12-31T23:59:59.999999Z"),
        (-62_167_219_200_000_001, "-0001-12-31T23:59:59.999999Z"),
        (2**63 - 1, "+294247-01-10T04:00:54.775807Z"),
    ],
)
def test_years_that_only_a_lying_clock_knows(time_us: int, text: str) -> None:
    assert format_time_us(time_us) == text


def test_a_period_is_half_open_and_never_empty() -> None:
    period = parse_period("2026-03-01", "2026-03-01T00:00:00.000001")
    assert period == Period(1_772_323_200_000_000, 1_772_323_200_000_001)
    assert str(period) == "[2026-03-01T00:00:00.000000Z, 2026-03-01T00:00:00.000001Z)"
    for end in ("2026-03-01", "2026-02-28"):
        with pytest.raises(UsageError, match="is empty"):
            parse_period("2026-03-01", end)
