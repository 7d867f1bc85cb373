"""Made-up play events: two regions, some late, a few broken. The same for the same seed."""

from __future__ import annotations

import json
import random
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

COUNTRIES: Final = {"us-east-1": ("us", "ca", "mx", "br"), "eu-west-1": ("de", "fr", "gb", "es")}
DEVICES: Final = ("tv", "phone", "tablet", "browser")
FIRST_MS: Final = 1_772_323_200_000  # 2026-03-01T00:00:00Z
USERS: Final = 5_000
TITLES: Final = 800
MEAN_GAP_MS: Final = 40
LATE_SHARE: Final = 0.03
LATEST_MS: Final = 8 * 60_000
BROKEN_EVERY: Final = 1_000


@dataclass(frozen=True, slots=True)
class Expected:
    """What a router that does its work makes of the events."""

    sent: int
    starts: int
    broken: int


def expected(count: int, seed: int) -> Expected:
    """Count, independently of the router, what is in the events."""
    starts = broken = 0
    for event in events(count, seed):
        value = event["value"]
        if isinstance(value, dict):
            starts += value["event_type"] == "start"
        else:
            broken += 1
    return Expected(count, starts, broken)


def lines(count: int, seed: int) -> Iterator[str]:
    """Yield events in the envelope of `headrace produce`, a line each."""
    for event in events(count, seed):
        yield json.dumps(event, separators=(",", ":")) + "\n"


def events(count: int, seed: int) -> Iterator[dict[str, object]]:
    """Yield events in the order in which they arrive."""
    chance = random.Random(seed)  # noqa: S311 - made-up data, not a secret
    clock_ms = FIRST_MS
    for number in range(count):
        clock_ms += int(chance.expovariate(1 / MEAN_GAP_MS))
        region = chance.choice(tuple(COUNTRIES))
        user = int(USERS * chance.paretovariate(1.2)) % USERS
        value: object = _play(chance, number, user, region, clock_ms)
        if number % BROKEN_EVERY == BROKEN_EVERY // 2:
            value = f'{{"event_id": "e{number}", "event_ts": broken off'
        yield {"key": str(user), "value": value, "headers": {"region": region}}


def _play(
    chance: random.Random, number: int, user: int, region: str, clock_ms: int
) -> dict[str, object]:
    late_ms = int(chance.random() * LATEST_MS) if chance.random() < LATE_SHARE else 0
    return {
        "event_id": f"e{number}",
        "event_ts": clock_ms - late_ms,
        "event_type": chance.choices(("start", "pause", "stop"), (5, 2, 3))[0],
        "user_id": user,
        "title_id": int(TITLES * chance.random() ** 3),
        "country": chance.choice(COUNTRIES[region]),
        "device": chance.choice(DEVICES),
        "position_ms": chance.randrange(7_200_000),
        "bitrate_kbps": chance.choice((800, 2_500, 5_000, 16_000)),
    }
