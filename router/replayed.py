"""Which records of a quarantine have been replayed to an output, kept in a file per output."""

from __future__ import annotations

import json
from bisect import bisect_right
from typing import TYPE_CHECKING, Any

from headrace import state_files
from headrace.errors import Terminal

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path


class Offsets:
    """A set of offsets, held as runs: [start, end) in order, none touching the next."""

    def __init__(self, runs: Iterable[tuple[int, int]] = ()) -> None:
        self._starts: list[int] = []
        self._ends: list[int] = []
        for start, end in sorted(runs):
            self._add(start, end)

    def __contains__(self, offset: int) -> bool:
        at = bisect_right(self._starts, offset) - 1
        return at >= 0 and offset < self._ends[at]

    def __len__(self) -> int:
        return sum(end - start for start, end in self.runs)

    @property
    def runs(self) -> list[tuple[int, int]]:
        """The runs in order."""
        return list(zip(self._starts, self._ends, strict=True))

    def add(self, offset: int) -> None:
        """Add one offset."""
        if offset not in self:
            self._add(offset, offset + 1)

    def _add(self, start: int, end: int) -> None:
        at = bisect_right(self._starts, start)
        if at and self._ends[at - 1] >= start:
            at -= 1
            start, end = self._starts[at], max(end, self._ends[at])
        stop = at
        while stop < len(self._starts) and self._starts[stop] <= end:
            end = max(end, self._ends[stop])
            stop += 1
        self._starts[at:stop] = [start]
        self._ends[at:stop] = [end]


class Replayed:
    """What of a quarantine topic an output has been given, or rightly not been given."""

    def __init__(self, path: Path, topic_id: str) -> None:
        self._path = path
        self._topic_id = topic_id
        self._done: dict[int, Offsets] = {}
        if path.exists():
            self._load()

    def has(self, partition: int, offset: int) -> bool:
        """Whether a record is done with."""
        return partition in self._done and offset in self._done[partition]

    def add(self, partition: int, offset: int) -> None:
        """Note that a record is done with; `save` makes it last."""
        self._done.setdefault(partition, Offsets()).add(offset)

    def save(self) -> None:
        """Write it down; when this returns, no crash can take it back."""
        done = {str(number): offsets.runs for number, offsets in sorted(self._done.items())}
        text = json.dumps({"topic_id": self._topic_id, "done": done})
        state_files.write(self._path, text.encode())

    def _load(self) -> None:
        try:
            whole: dict[str, Any] = json.loads(self._path.read_text(encoding="utf-8"))
            runs = {int(number): Offsets(map(tuple, one)) for number, one in whole["done"].items()}
            topic_id = whole["topic_id"]
        except (ValueError, KeyError, TypeError, AttributeError):
            raise Terminal(
                f"{self._path} is damaged: it does not say what was replayed",
                "remove it, and all that is in the quarantine is replayed anew",
            ) from None
        # A quarantine made anew holds other records under the same offsets.
        if topic_id == self._topic_id:
            self._done = runs
