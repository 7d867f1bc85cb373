"""How far a streaming query is, by its own log."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from pathlib import Path


class Committed(NamedTuple):
    """The steps that a query is through with, and its batches."""

    steps: int
    batches: tuple[int, ...]


def committed(checkpoint: Path) -> Committed:
    """Return how many steps a query has committed, and in which batches."""
    names = (file.name for file in (checkpoint / "commits").glob("*"))
    batches = sorted(int(name) for name in names if name.isdigit())
    if not batches:
        return Committed(0, ())
    return Committed(steps_of(checkpoint, batches[-1]), tuple(batches))


def steps_of(checkpoint: Path, batch: int) -> int:
    """Return how many steps a query is through with after a batch, which may not be committed."""
    text = (checkpoint / "offsets" / str(batch)).read_text(encoding="utf-8")
    # After the version and the metadata, a line for each source: all are at the same step.
    offsets = [json.loads(line) for line in text.splitlines()[2:] if line.startswith("{")]
    return min(int(offset["step"]) for offset in offsets)
