"""Which records of a quarantine each output is done with, as replays have noted it on this host."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from headrace import state_files
from headrace.errors import Terminal
from headrace.kafka.offset_set import OffsetSet

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from router.quarantine.records import QuarantinedRecord


def replayed_by(folder: Path, names: Iterable[str], topic_id: str) -> dict[str, Replayed]:
    """Return what each output is done with; `folder` is that of the quarantine's state."""
    return {name: Replayed(folder / "replayed" / f"{name}.json", topic_id) for name in names}


def parted(
    kept: QuarantinedRecord, stream: str, done: Mapping[str, Replayed]
) -> tuple[list[str], list[str]]:
    """Return the outputs that a record failed for: those that wait for it, those that are done."""
    own, at = kept.outputs(stream), kept.position
    waiting: list[str] = []
    settled: list[str] = []
    for name, replayed in done.items():
        if own in {"", name}:
            (settled if replayed.has(at.partition, at.offset) else waiting).append(name)
    return waiting, settled


class Replayed:
    """What of a quarantine topic an output has been given, or rightly not been given."""

    def __init__(self, path: Path, topic_id: str) -> None:
        self._path = path
        self._topic_id = topic_id
        self._done: dict[int, OffsetSet] = {}
        if path.exists():
            self._load()

    def has(self, partition: int, offset: int) -> bool:
        """Whether a record is done with."""
        return partition in self._done and offset in self._done[partition]

    def add(self, partition: int, offset: int) -> None:
        """Note that a record is done with; `save` makes it last."""
        self._done.setdefault(partition, OffsetSet()).add(range(offset, offset + 1))

    def save(self) -> None:
        """Write it down; when this returns, no crash can take it back."""
        done = {
            str(number): [[run.start, run.stop] for run in offsets]
            for number, offsets in sorted(self._done.items())
        }
        text = json.dumps({"topic_id": self._topic_id, "done": done})
        state_files.write(self._path, text.encode())

    def _load(self) -> None:
        try:
            whole: dict[str, Any] = json.loads(self._path.read_text(encoding="utf-8"))
            runs = {
                int(number): OffsetSet(*(range(*one) for one in spans))
                for number, spans in whole["done"].items()
            }
            topic_id = whole["topic_id"]
        except (ValueError, KeyError, TypeError, AttributeError):
            raise Terminal(
                f"{self._path} is damaged: it does not say what was replayed",
                "remove it; then all records in the quarantine are replayed again",
            ) from None
        # A quarantine that was re-created holds other records under the same offsets.
        if topic_id == self._topic_id:
            self._done = runs
