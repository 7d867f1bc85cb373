"""What Spark's checkpoint of a query says: up to where a batch goes, and where the last ended."""

from __future__ import annotations

import json
import shutil
from typing import TYPE_CHECKING

import structlog

from headrace.errors import Terminal

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

VERSION = "v1"
log = structlog.get_logger(__name__)


class CheckpointDamaged(Terminal):
    """A file of a checkpoint that cannot be read."""

    def __init__(self, file: Path, why: str) -> None:
        self.file = file
        super().__init__(
            f"the checkpoint file {file} is damaged: {why}",
            f"remove the folder {file.parent.parent}: the place of each output is in its ledger,"
            " and it goes on from there",
        )


def batch_ends(checkpoint: Path, batch: int, topic: str) -> dict[int, int]:
    """Return the next offset after a batch, for each partition."""
    file = checkpoint / "offsets" / str(batch)
    try:
        lines = file.read_text(encoding="utf-8").splitlines()
        if lines[:1] != [VERSION] or len(lines) < 3:
            raise CheckpointDamaged(file, f"it has {len(lines)} lines and no {VERSION}")
        offsets = json.loads(lines[2])
        return {int(number): int(offset) for number, offset in offsets[topic].items()}
    except OSError as problem:
        raise CheckpointDamaged(file, problem.strerror or "it cannot be read") from None
    except KeyError:
        raise CheckpointDamaged(file, f"it is of another topic than {topic}") from None
    except (ValueError, TypeError, AttributeError):
        raise CheckpointDamaged(file, "it is no list of offsets") from None


def fit(checkpoint: Path, topic: str, places: Mapping[int, int]) -> None:
    """Make a checkpoint fit for members at these places, or begin it anew.

    The ledgers are what counts. A checkpoint that is ahead of one of them (its output is new, or
    came from another query) would skip what the output still has to do.
    """
    last = _newest(checkpoint / "offsets")
    if last is None:
        if checkpoint.exists():
            shutil.rmtree(checkpoint)
        return
    # Both are read by Spark: that they can be is known before it starts.
    newest_ends = batch_ends(checkpoint, last, topic)
    done = _newest(checkpoint / "commits")
    ends = newest_ends if done == last else None
    if ends is None and done is not None and (checkpoint / "offsets" / str(done)).exists():
        ends = batch_ends(checkpoint, done, topic)
    ahead = ends is not None and any(
        ends.get(number, place) > place for number, place in places.items()
    )
    if ahead:
        log.info("a query begins a new checkpoint from the ledgers", checkpoint=str(checkpoint))
        shutil.rmtree(checkpoint)


def _newest(folder: Path) -> int | None:
    try:
        numbers = [int(file.name) for file in folder.iterdir() if file.name.isdecimal()]
    except OSError:
        return None
    return max(numbers, default=None)
