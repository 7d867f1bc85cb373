"""Generates changes of a table of accounts, as a connector reads them from a database's log.

python generate.py --hours 1 --changes-per-hour 12000 --to events
headrace produce events/account_changes.jsonl --envelope --cluster consumer --topic account_changes
"""

from __future__ import annotations

import argparse
import json
import random
from collections import deque
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

START_MS: Final = 1_772_323_200_000  # 2026-03-01T00:00:00Z
HOUR_MS: Final = 3_600_000
PLANS: Final = ("basic", "standard", "premium")
COUNTRIES: Final = ("BR", "DE", "IN", "JP", "US")
# A connector that restarts sends this many changes again, because it had not saved its position.
SENT_AGAIN: Final = 20

Envelope = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Wanted:
    """How much, and how wrong the clocks are: the hosts' differ by up to `clocks_apart_ms`."""

    hours: float = 1.0
    changes_per_hour: int = 12_000
    accounts: int = 500
    restarts: int = 5
    clocks_apart_ms: int = 4 * 60_000
    seed: int = 7


@dataclass(slots=True)
class _Database:
    """The accounts there are, and what a change makes of them."""

    chance: random.Random
    wanted: Wanted
    rows: dict[str, dict[str, Any]] = field(default_factory=dict)
    versions: dict[str, int] = field(default_factory=dict)
    closed: dict[int, int] = field(default_factory=dict)

    def change(self, at_ms: int) -> dict[str, Any]:
        """Change an account: make it, delete it, or change its plan or balance."""
        chance = self.chance
        # A few customers change their accounts most of the time.
        customer = min(int(chance.paretovariate(0.6)), self.wanted.accounts)
        key = f"a{customer}-{self.closed.get(customer, 0)}"
        version = self.versions[key] = self.versions.get(key, 0) + 1
        said = {"account_id": key, "version": version, "changed_at": at_ms}
        row = self.rows.get(key)
        if row is None:
            row = {"plan": "basic", "country": chance.choice(COUNTRIES), "balance_cents": 0}
            self.rows[key] = row
            return {**said, "op": "c", **row}
        if chance.random() < 0.15:
            del self.rows[key]
            if chance.random() < 0.5:
                # For good: another change of this customer opens another account.
                self.closed[customer] = self.closed.get(customer, 0) + 1
            return {**said, "op": "d", **dict.fromkeys(row)}
        row["balance_cents"] += chance.randrange(-2_000, 5_000)
        if chance.random() < 0.2:
            row["plan"] = chance.choice(PLANS)
        return {**said, "op": "u", **row}


def generate(wanted: Wanted) -> list[Envelope]:
    """Return the records of the topic in the order in which they are sent.

    The connector moves to another host now and then: there it begins with changes that it has sent
    already, and the records' timestamps, which are that host's clock, may go backwards.
    """
    chance = random.Random(wanted.seed)  # noqa: S311 - made-up data, not a secret
    database = _Database(chance, wanted)
    count = round(wanted.hours * wanted.changes_per_hour)
    moves = set(chance.sample(range(1, count), min(wanted.restarts, count - 1)))
    clock_ms, sent = 0, list[Envelope]()
    latest: deque[dict[str, Any]] = deque(maxlen=SENT_AGAIN)
    for number in range(count):
        at_ms = START_MS + round(number * wanted.hours * HOUR_MS / count)
        again: list[dict[str, Any]] = []
        if number in moves:
            clock_ms, again = chance.randrange(-wanted.clocks_apart_ms, 1), list(latest)
        change = database.change(at_ms)
        latest.append(change)
        for one in (*again, change):
            stamped_ms = at_ms + clock_ms + round(chance.expovariate(1 / 200))
            sent.append({"key": one["account_id"], "value": one, "timestamp": stamped_ms})
    return sent


def accounts_after(sent: list[Envelope]) -> dict[str, dict[str, Any]]:
    """Return the accounts that there are after all changes: the last one of each tells."""
    last = {one["key"]: one["value"] for one in sent}
    return {key: value for key, value in last.items() if value["op"] != "d"}


def main() -> None:
    """Write the file, and say how many accounts there are in the end."""
    usual = Wanted()
    asked = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    asked.add_argument("--hours", type=float, default=usual.hours)
    asked.add_argument("--changes-per-hour", type=int, default=usual.changes_per_hour)
    asked.add_argument("--seed", type=int, default=usual.seed)
    asked.add_argument("--to", type=Path, default=Path("events"))
    words = asked.parse_args()
    sent = generate(Wanted(words.hours, words.changes_per_hour, seed=words.seed))
    words.to.mkdir(parents=True, exist_ok=True)
    place = words.to / "account_changes.jsonl"
    place.write_text("".join(json.dumps(one) + "\n" for one in sent), encoding="utf-8")
    left = len(accounts_after(sent))
    print(f"{len(sent):,} changes in {place}, {left:,} accounts are left")  # noqa: T201 - what it did


if __name__ == "__main__":
    main()
