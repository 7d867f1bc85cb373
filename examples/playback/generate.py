"""Generates impressions and plays as two regions would send them; the same for the same seed.

python generate.py --hours 6 --plays-per-hour 2000 --to events
headrace produce events/playback.jsonl --envelope --cluster consumer --topic playback
headrace produce events/impressions.jsonl --envelope --cluster consumer --topic impressions
"""

from __future__ import annotations

import argparse
import json
import random
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

START_MS: Final = 1_772_323_200_000  # 2026-03-01T00:00:00Z
HOUR_MS: Final = 3_600_000
# How long a region's records are on their way, in the middle.
REGIONS: Final = {"us-east-1": 300, "eu-west-1": 2_500}
LATE_SHARE: Final = 0.03
IMPRESSIONS_PER_PLAY: Final = 10
LED_TO_A_PLAY: Final = 3

Envelope = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Wanted:
    """How much, and how late: `latest_ms` bounds lateness, but for `beyond` of the records."""

    hours: float = 6.0
    plays_per_hour: int = 2_000
    users: int = 400
    titles: int = 60
    latest_ms: int = 8 * 60_000
    beyond: float = 0.0
    seed: int = 7


def generate(wanted: Wanted) -> dict[str, list[Envelope]]:
    """Return the records of both topics, each in the order in which they arrive.

    The last record of each comes two hours after the others: it takes the watermark past them.
    """
    chance = random.Random(wanted.seed)  # noqa: S311 - made-up data, not a secret
    span_ms = round(wanted.hours * HOUR_MS)
    plays: list[Envelope] = []
    shown: list[Envelope] = []
    for number in range(round(wanted.hours * wanted.plays_per_hour)):
        region = chance.choice(tuple(REGIONS))
        # A few users watch most, a few titles are shown most.
        user = f"u{_skewed(chance, wanted.users)}"
        title = f"t{_skewed(chance, wanted.titles)}"
        at_ms = START_MS + chance.randrange(span_ms)
        play = {"event_id": f"p{number}", "watched_s": chance.randrange(5, 900)}
        plays.append(_sent(chance, wanted, region, at_ms, user, title, play))
        for nth in range(IMPRESSIONS_PER_PLAY):
            impression = {"impression_id": f"i{number}-{nth}", "row": chance.randrange(40)}
            before_ms = at_ms - chance.randrange(HOUR_MS // 2)
            if nth < LED_TO_A_PLAY:
                shown.append(_sent(chance, wanted, region, before_ms, user, title, impression))
            else:
                other = f"t{chance.randrange(1, wanted.titles + 1)}"
                somebody = f"u{chance.randrange(1, wanted.users + 1)}"
                shown.append(_sent(chance, wanted, region, before_ms, somebody, other, impression))
    end_ms = START_MS + span_ms + 2 * HOUR_MS
    last = {"event_id": "last", "impression_id": "last", "watched_s": 0, "row": 0}
    made = {}
    for topic, records in (("playback", plays), ("impressions", shown)):
        records.sort(key=lambda record: record["timestamp"])
        keys = records[0]["value"].keys()
        closing = {"user_id": "nobody", "title_id": "none", "event_ts": end_ms, **last}
        value = {key: closing[key] for key in keys}
        made[topic] = [*records, {"key": "nobody", "value": value, "timestamp": end_ms}]
    return made


def _skewed(chance: random.Random, count: int) -> int:
    """Choose one of so many: a tenth of them gets nearly half, however many there are."""
    return 1 + int(count * chance.random() ** 3)


def _sent(  # noqa: PLR0913, PLR0917 - a record is made of these
    chance: random.Random,
    wanted: Wanted,
    region: str,
    at_ms: int,
    user: str,
    title: str,
    more: dict[str, Any],
) -> Envelope:
    """Send an event: it arrives after its time, some of them much later."""
    delay_ms = round(chance.expovariate(1 / REGIONS[region]))
    if chance.random() < LATE_SHARE:
        delay_ms = chance.randrange(wanted.latest_ms)
    if chance.random() < wanted.beyond:
        delay_ms = wanted.latest_ms * 5
    value = {"user_id": user, "title_id": title, "event_ts": at_ms, **more}
    return {
        "key": user,
        "value": value,
        "headers": {"region": region},
        "timestamp": at_ms + min(delay_ms, wanted.latest_ms * 5),
    }


def main() -> None:
    """Write a file for each topic."""
    usual = Wanted()
    asked = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    asked.add_argument("--hours", type=float, default=usual.hours)
    asked.add_argument("--plays-per-hour", type=int, default=usual.plays_per_hour)
    asked.add_argument("--users", type=int, default=usual.users)
    asked.add_argument("--titles", type=int, default=usual.titles)
    asked.add_argument("--beyond", type=float, default=0.0, help="share later than the watermark")
    asked.add_argument("--seed", type=int, default=usual.seed)
    asked.add_argument("--to", type=Path, default=Path("events"))
    words = asked.parse_args()
    wanted = Wanted(
        words.hours,
        words.plays_per_hour,
        words.users,
        words.titles,
        beyond=words.beyond,
        seed=words.seed,
    )
    words.to.mkdir(parents=True, exist_ok=True)
    for topic, records in generate(wanted).items():
        lines = "".join(json.dumps(record) + "\n" for record in records)
        (words.to / f"{topic}.jsonl").write_text(lines, encoding="utf-8")
        print(f"{len(records):,} records in {words.to / topic}.jsonl")  # noqa: T201 - what it did


if __name__ == "__main__":
    main()
