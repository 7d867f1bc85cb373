from __future__ import annotations

from datetime import UTC, date, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.records.rows import BadRecord
from headrace.records.times import (
    MOST_REMEMBERED,
    _known_seconds,
    _known_texts,
    _offset_us,
    _read,
    date_of,
    date_text,
    in_our_years,
    instant_of,
    instant_text,
    plain_instant,
    time_of_day_of,
    wall_clock_of,
    wall_clock_text,
)

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MICROSECOND = timedelta(microseconds=1)
moments = st.datetimes(timezones=st.just(UTC))
offsets = st.integers(-18 * 60, 18 * 60).map(lambda minutes: timezone(timedelta(minutes=minutes)))


@given(moments)
def test_an_instant_is_read_as_it_was_written(moment: datetime) -> None:
    micros = (moment - EPOCH) // MICROSECOND
    text = instant_text(micros)
    assert datetime.fromisoformat(text) == moment
    assert len(text) == 27
    # Twice: once read, once looked up.
    assert instant_of(text) == instant_of(text) == micros
    assert wall_clock_of(wall_clock_text(micros)) == micros


@given(st.datetimes(datetime(2, 1, 1), datetime(9998, 12, 31)), offsets, st.sampled_from(" T"))  # noqa: DTZ001 - the offsets come beside
def test_an_instant_in_any_zone(clock: datetime, offset: timezone, between: str) -> None:
    moment = clock.replace(tzinfo=offset)
    micros = (moment - EPOCH) // MICROSECOND
    assert instant_of(moment.isoformat(between)) == micros
    assert (
        wall_clock_of(moment.isoformat(between))
        == (clock.replace(tzinfo=UTC) - EPOCH) // MICROSECOND
    )


@pytest.mark.parametrize(
    ("text", "same_as"),
    [
        ("2026-01-05", "2026-01-05T00:00:00.000000Z"),
        ("2026-1-5 3:04", "2026-01-05T03:04:00.000000Z"),
        ("2026-01-05T03:04:05Z", "2026-01-05T03:04:05.000000Z"),
        ("2026-01-05T03:04:05.1234567Z", "2026-01-05T03:04:05.123456Z"),
        ("2026-01-05T03:04:05+0230", "2026-01-05T00:34:05.000000Z"),
        ("2026-01-05T03:04:05 UTC", "2026-01-05T03:04:05.000000Z"),
        ("0001-01-01T00:00:00Z", "0001-01-01T00:00:00.000000Z"),
        ("9999-12-31T23:59:59.999999Z", "9999-12-31T23:59:59.999999Z"),
    ],
)
def test_ways_to_write_an_instant(text: str, same_as: str) -> None:
    assert instant_text(instant_of(text)) == same_as


@pytest.mark.parametrize(
    "text",
    [
        "",
        "yesterday",
        "03:04:05",
        "2026-13-05",
        "2026-02-30T00:00:00Z",
        "2026-01-05T24:00:00Z",
        "2026-01-05T03:04:60Z",
        "2026-01-05T03:04:05 Europe/Berlin",
        "2026-01-05T03:04:05+19:00",
        "2026-01-05T03:04:05Z and more",
        "+12026-01-05T03:04:05Z",
        "9999-12-31T23:59:59-01:00",
        "0001-01-01T00:00:00+01:00",
        "\uff12026-01-05T03:04:05Z",
    ],
)
def test_what_is_no_instant(text: str) -> None:
    # Twice: what was refused is not remembered as good.
    for _ in range(2):
        with pytest.raises(BadRecord):
            instant_of(text)


@given(moments, st.integers(1, 9), st.sampled_from(["Z", "", "+00:00", "-05:30"]))
def test_a_fraction_of_any_length_is_cut_off_at_the_microsecond(
    moment: datetime, digits: int, zone: str
) -> None:
    text = f"{moment.replace(tzinfo=None).isoformat(timespec='microseconds')}789"[: 20 + digits]
    kept = moment.replace(microsecond=int(text[20:26].ljust(6, "0")))
    micros = (kept - EPOCH) // MICROSECOND
    hours = {"-05:30": 330}.get(zone, 0)
    if in_our_years(micros + hours * 60_000_000):
        for _ in range(2):
            assert instant_of(text + zone) == micros + hours * 60_000_000
    assert wall_clock_of(text + zone) == micros


@given(st.text("0123456789.Z+:T -\u0661", max_size=12))
def test_whatever_stands_behind_a_known_second(end: str) -> None:
    assert instant_of("2026-01-05T03:04:05.5Z") == instant_of("2026-01-05T03:04:05.500Z")
    text = f"2026-01-05T03:04:05{end}"
    # Behind a second that nobody knows, our own rules read the same.
    micros, unknown = plain_instant(text), oracle(text)
    assert micros is None or micros == unknown


def oracle(text: str) -> int | None:
    """What our own rules read, which neither look anything up nor ask the library."""
    try:
        clock, zone = _read(text)
        return clock - _offset_us(zone, text)
    except BadRecord:
        return None


@pytest.mark.parametrize(
    "text", ["2026-01-05T03:04:05.\u0661Z", "2026-01-05T03:04:05.1_0Z", "2026-01-05T03:04:05,123Z"]
)
def test_digits_are_digits_behind_a_second_that_is_known_too(text: str) -> None:
    assert instant_of("2026-01-05T03:04:05.5Z") == instant_of("2026-01-05T03:04:05.500Z")
    with pytest.raises(BadRecord):
        instant_of(text)


def test_what_is_remembered_is_bounded_whatever_the_texts() -> None:
    sizes: list[int] = []
    for turn in range(3):
        for number in range(MOST_REMEMBERED):
            micros = (turn * MOST_REMEMBERED + number) * 1_000_000
            # A tail of any length is no part of what is remembered.
            instant_of(f"{instant_text(micros)[:-1]}{' ' * (number % 50)}Z")
            instant_of(instant_text(micros))
        sizes += [len(known) for known in (_known_seconds, _known_texts)]
    assert max(sizes) <= MOST_REMEMBERED
    assert {len(key) for key in _known_seconds} == {19}


@given(st.dates())
def test_dates(day: date) -> None:
    days = (day - date(1970, 1, 1)).days
    assert date_text(days) == day.isoformat()
    assert date_of(day.isoformat()) == days


def test_times_of_day() -> None:
    assert time_of_day_of("01:02:03.5") == 3_723_500_000
    assert time_of_day_of("01:02") == 3_720_000_000
    with pytest.raises(BadRecord, match="no time of day: 25:00"):
        time_of_day_of("25:00")
