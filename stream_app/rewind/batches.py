"""The batches in a checkpoint: when each began, where it had come to, what stands in its way.

A batch is as old as Spark's own record of it says. The times of its files are another matter: a
checkpoint that was copied or restored has those of that day.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from headrace.errors import Terminal, UsageError
from headrace.kafka.positions import from_json
from headrace.queries.checkpoint import VERSION, batches_in
from headrace.times import format_time_us, parse_time_us
from stream_app.follow.position import FollowPosition

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from headrace.kafka.positions import Positions

_US_PER_MS: Final = 1000
PARTITIONS_SHOWN: Final = 6


@dataclass(frozen=True, slots=True)
class Batch:
    """A batch that was committed, when it began, and where each source was after it.

    All that it read had arrived when it began.
    `obstacle` says why it cannot be gone back to, None where nothing is known against it.
    """

    number: int
    began_us: int
    offsets: tuple[Mapping[str, Any], ...]
    obstacle: str | None = None

    @property
    def positions(self) -> tuple[Positions, ...]:
        """Where the sources were in their topics, the live half of a hybrid source included."""
        halves = (one["live"] if "past" in one else one for one in self.offsets)
        return tuple(from_json(one) for one in halves if one and "tables" not in one)

    @property
    def needed(self) -> dict[str, set[int]]:
        """The snapshots of followed tables that it goes on from."""
        found: dict[str, set[int]] = {}
        for one in self.offsets:
            if "tables" in one:
                for table, seen in FollowPosition.from_json(one).tables.items():
                    found.setdefault(table, set()).update(seen.needed)
        return found

    def __str__(self) -> str:
        return f"batch {self.number} ({format_time_us(self.began_us)})"


def committed_batches(checkpoint: Path) -> list[Batch]:
    """Return the batches that Spark's logs still know as committed, the newest first."""
    logged = batches_in(checkpoint / "offsets")
    found = []
    for number in sorted(logged & batches_in(checkpoint / "commits"), reverse=True):
        obstacle = None
        if number and number - 1 not in logged:
            # Spark begins by looking where the last batch began.
            obstacle = f"batch {number - 1}, at whose end it begins, is gone from Spark's log"
        try:
            began_us, offsets = _record(checkpoint / "offsets" / str(number))
        except FileNotFoundError:
            # A running query lets go of its oldest batches meanwhile.
            continue
        found.append(Batch(number, began_us, offsets, obstacle))
    return found


def choose_batch(batches: Sequence[Batch], to: str) -> Batch:
    """Return the batch of that number, or the newest that had begun by that time."""
    possible = [one for one in batches if one.obstacle is None]
    if not possible:
        why = f": {batches[0].obstacle}" if batches else ""
        raise Terminal(
            f"there is no batch to rewind to{why}", "start over, or backfill from the lake"
        )
    asked = _asked(to)
    found = next((one for one in batches if asked(one)), None)
    if found is not None and found.obstacle is None:
        return found
    why = f"there is no committed batch {to}" if to.isdecimal() else f"no batch had begun by {to}"
    if found is not None:
        why = f"cannot rewind to {found}: {found.obstacle}"
    raise Terminal(why, f"the oldest possible is {possible[-1]}, the newest {possible[0]}")


def describe_offset(offset: Mapping[str, Any]) -> str:
    """Say in a few words where a source is, by its offset in Spark's log."""
    if "tables" in offset:
        position = FollowPosition.from_json(offset)
        names = ", ".join(sorted(position.tables))
        # Before the first row there is no time to tell.
        reached = None if position.reached_us is None else format_time_us(position.until_us)
        return f"{names} {reached}" if reached else f"nothing of {names} yet"
    if "past" in offset:
        live = offset["live"]
        return f"step {offset['past']['step']} of its history, {_in_topics(from_json(live))}"
    return _in_topics(from_json(offset))


def _in_topics(positions: Positions) -> str:
    shown = []
    for topic, of in sorted(positions.items()):
        each = " ".join(f"{number}:{offset}" for number, offset in sorted(of.items()))
        total = f"{sum(of.values()):,} in {len(of)} partitions"
        shown.append(f"{topic} {each if len(of) <= PARTITIONS_SHOWN else total}")
    return ", ".join(shown)


def _asked(to: str) -> Callable[[Batch], bool]:
    if to.isdecimal():
        number = int(to)
        return lambda one: one.number == number
    try:
        time_us = parse_time_us(to)
    except UsageError as problem:
        raise UsageError(
            f"{to} is neither a time nor the number of a batch",
            f"{problem.advice}; headrace rewind without --to lists the batches",
        ) from None
    return lambda one: one.began_us <= time_us


def _record(file: Path) -> tuple[int, tuple[Mapping[str, Any], ...]]:
    """Return when a batch began, and where each source was to be after it."""
    try:
        version, said, *lines = file.read_text(encoding="utf-8").splitlines()
        # A source of which nothing has come yet is a dash.
        found = tuple(dict(json.loads(line)) for line in lines if line != "-")
        began_us = int(json.loads(said)["batchTimestampMs"]) * _US_PER_MS
    except FileNotFoundError:
        raise
    except (OSError, ValueError, TypeError, KeyError):
        version, found, began_us = "", (), 0
    if version != VERSION:
        raise Terminal(
            f"Spark's log of offsets cannot be read: {file}", "restore it, or start over"
        )
    return began_us, found
