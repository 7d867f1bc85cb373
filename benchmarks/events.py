"""Playback events: nine fields of JSON in about 200 bytes, the same for the same seed."""

from __future__ import annotations

import random
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

START: Final = datetime(2026, 1, 5, tzinfo=UTC)
SPAN: Final = timedelta(hours=6)
END_EXCLUSIVE: Final = START + SPAN

FILTER: Final = "event_type = 'start'"
PROJECTION: Final = ("event_id", "user_id", "title_id", "event_ts", "upper(country) AS country")
KEPT_FIELDS: Final = ("event_id", "user_id", "title_id", "event_ts", "country")
FIELDS: Final = (
    "event_id",
    "event_ts",
    "event_type",
    "user_id",
    "title_id",
    "session_id",
    "device",
    "country",
    "position_ms",
)

OTHER_TYPES = ("stop", "pause", "resume", "seek")
DEVICES = ("tv", "phone", "tablet", "web", "console")
COUNTRIES = ("us", "br", "de", "in", "jp", "mx", "gb", "fr")
USERS = 50_000
TITLES = 8_000
# Events happen up to this long before they arrive.
MOST_DELAY_MS = 30_000


@dataclass(frozen=True, slots=True)
class Event:
    """One event as it is sent."""

    key: bytes
    value: bytes
    timestamp_ms: int
    passes: bool


def generate(count: int, seed: int) -> Iterator[Event]:
    """Yield events in the order of their arrival, spread evenly over the span."""
    chance = random.Random(seed)  # noqa: S311 - the same for the same seed is the purpose
    first_ms = round(START.timestamp() * 1000)
    span_ms = round(SPAN.total_seconds() * 1000)
    for number in range(count):
        arrived_ms = first_ms + number * span_ms // count
        bits = chance.getrandbits(128)
        # Every other one in the mean, not in turns: a filter shall have something to decide.
        passes = bool(bits & 1)
        kind = "start" if passes else OTHER_TYPES[(bits >> 1) & 3]
        user = (bits >> 3) % USERS
        happened_ms = arrived_ms - (bits >> 20) % MOST_DELAY_MS
        value = (
            f'{{"event_id":"{bits:032x}","event_ts":"{iso(happened_ms)}","event_type":"{kind}",'
            f'"user_id":"u{user:06d}","title_id":{(bits >> 40) % TITLES},'
            f'"session_id":"s{(bits >> 50) & 0xFFFFFFFF:08x}",'
            f'"device":"{DEVICES[(bits >> 60) % len(DEVICES)]}",'
            f'"country":"{COUNTRIES[(bits >> 70) & 7]}","position_ms":{(bits >> 80) % 7_200_000}}}'
        )
        yield Event(f"u{user:06d}".encode(), value.encode(), arrived_ms, passes)


def iso(time_ms: int) -> str:
    """Write a time as ISO-8601 in UTC with milliseconds."""
    seconds, millis = divmod(time_ms, 1000)
    return f"{_iso_seconds(seconds)}.{millis:03d}Z"


# Events happen within seconds of each other: formatting each anew would be half of the work.
@lru_cache(maxsize=1024)
def _iso_seconds(seconds: int) -> str:
    return f"{datetime.fromtimestamp(seconds, tz=UTC):%Y-%m-%dT%H:%M:%S}"


AVRO_SCHEMA: Final = """\
{"type": "record", "name": "PlaybackEvent", "namespace": "headrace.benchmarks", "fields": [
  {"name": "event_id", "type": "string"},
  {"name": "event_ts", "type": {"type": "long", "logicalType": "timestamp-micros"}},
  {"name": "event_type", "type": "string"},
  {"name": "user_id", "type": "string"},
  {"name": "title_id", "type": "long"},
  {"name": "session_id", "type": "string"},
  {"name": "device", "type": "string"},
  {"name": "country", "type": "string"},
  {"name": "position_ms", "type": "long"}
]}
"""
