from __future__ import annotations

import contextlib
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.config.common.units import UnitError, parse_duration, parse_size


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("0", 0),
        ("250ms", 0.25),
        ("30s", 30),
        ("30 sec", 30),
        ("2 seconds", 2),
        ("15min", 900),
        ("15m", 900),
        ("1 minute", 60),
        ("1h30m", 5400),
        ("1.5h", 5400),
        ("1 hour 30 min", 5400),
        ("2days", 172800),
        ("1d", 86400),
    ],
)
def test_durations(text: str, seconds: float) -> None:
    assert parse_duration(text) == timedelta(seconds=seconds)


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("1B", 1),
        ("1kB", 1000),
        ("1KB", 1000),
        ("1KiB", 1024),
        ("128MiB", 128 * 2**20),
        ("128 MB", 128 * 10**6),
        ("1.5GiB", 3 * 2**29),
        ("2TiB", 2**41),
        ("1TB", 10**12),
    ],
)
def test_sizes(text: str, size: int) -> None:
    assert parse_size(text) == size


@pytest.mark.parametrize(
    ("text", "reason", "advice"),
    [
        ("15", "the unit is missing", "units: ms, s, min, h, d"),
        ("15 minuts", 'unknown unit "minuts"', 'did you mean "15 minutes"?'),
        ("1h 5x", 'unknown unit "x"', "units:"),
        ("1h2h", "comes twice", "add"),
        ("-5s", "not a number", "units"),
        ("", "not a number", "units"),
        ("٣s", "not a number", "units"),
        ("999999999999999d", "too long", "shorter"),
    ],
)
def test_durations_that_are_none(text: str, reason: str, advice: str) -> None:
    with pytest.raises(UnitError) as caught:
        parse_duration(text)
    assert reason in caught.value.reason
    assert advice in caught.value.advice


@pytest.mark.parametrize("text", ["128", "128MBB", "1M", "999999999TiB", "1e3MB"])
def test_sizes_that_are_none(text: str) -> None:
    with pytest.raises(UnitError):
        parse_size(text)


@given(st.text(max_size=30))
def test_any_text_is_a_duration_or_refused(text: str) -> None:
    with contextlib.suppress(UnitError):
        assert parse_duration(text) >= timedelta(0)
