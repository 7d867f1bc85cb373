from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from benchmarks.events import AVRO_SCHEMA, END_EXCLUSIVE, FIELDS, START, generate
from headrace.times import parse_time_us

ROWS = 4000


def test_the_same_seed_gives_the_same_events() -> None:
    assert list(generate(200, 7)) == list(generate(200, 7))
    assert list(generate(200, 7)) != list(generate(200, 8))


def test_an_event_has_the_fields_of_the_schema() -> None:
    named = tuple(field["name"] for field in json.loads(AVRO_SCHEMA)["fields"])
    assert named == FIELDS
    for event in generate(100, 1):
        assert tuple(json.loads(event.value)) == FIELDS


def test_about_half_pass_and_an_event_is_about_200_bytes() -> None:
    events = list(generate(ROWS, 3))
    assert abs(sum(event.passes for event in events) - ROWS / 2) < ROWS / 20
    assert 180 < sum(len(event.value) for event in events) / ROWS < 240


def test_what_passes_is_what_the_filter_says() -> None:
    for event in generate(500, 5):
        assert event.passes == (json.loads(event.value)["event_type"] == "start")


@given(st.integers(1, 300), st.integers(0, 2**32))
def test_arrivals_are_in_order_and_within_the_period(count: int, seed: int) -> None:
    events = list(generate(count, seed))
    times = [event.timestamp_ms for event in events]
    assert len(times) == count
    assert times == sorted(times)
    assert times[0] >= START.timestamp() * 1000
    assert times[-1] < END_EXCLUSIVE.timestamp() * 1000
    for event in events:
        happened_us = parse_time_us(json.loads(event.value)["event_ts"])
        assert 0 <= event.timestamp_ms * 1000 - happened_us < 30_000_000
