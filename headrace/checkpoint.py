"""What Spark's checkpoint of a query says of a batch: up to which offsets it goes.

Its rows do not say: the last offsets of a range may hold no record, where a transaction ended or
compaction took it. Spark writes its plan down before a batch begins.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from headrace.errors import Terminal

if TYPE_CHECKING:
    from pathlib import Path

VERSION = "v1"
US_PER_MS = 1000


class CheckpointDamaged(Terminal):
    """A file of a checkpoint that cannot be read."""

    def __init__(self, checkpoint: Path, file: Path, why: str) -> None:
        self.file = file
        super().__init__(
            f"the checkpoint file {file} is damaged: {why}",
            f"remove the folder {checkpoint}: the place is kept elsewhere, in an output's ledger or"
            " in the table, and it goes on from there",
        )


def batch_ends(checkpoint: Path, batch: int, topic: str) -> dict[int, int]:
    """Return the next offset after a batch, for each partition."""
    file = checkpoint / "offsets" / str(batch)
    try:
        lines = file.read_text(encoding="utf-8").splitlines()
        if lines[:1] != [VERSION] or len(lines) < 3:
            raise CheckpointDamaged(checkpoint, file, f"it has {len(lines)} lines and no {VERSION}")
        offsets = json.loads(lines[2])
        return {int(number): int(offset) for number, offset in offsets[topic].items()}
    except OSError as problem:
        raise CheckpointDamaged(checkpoint, file, problem.strerror or "it cannot be read") from None
    except KeyError:
        raise CheckpointDamaged(checkpoint, file, f"it is of another topic than {topic}") from None
    except (ValueError, TypeError, AttributeError):
        raise CheckpointDamaged(checkpoint, file, "it is no list of offsets") from None


def watermark_us(checkpoint: Path) -> int | None:
    """Return how far the watermark of a query is; None where it has no batch behind it, or none."""
    batches = [int(one.name) for one in (checkpoint / "commits").glob("*") if one.name.isdecimal()]
    if not batches:
        return None
    file = checkpoint / "commits" / str(max(batches))
    try:
        _, text = file.read_text(encoding="utf-8").split("\n", 1)
        return int(json.loads(text)["nextBatchWatermarkMs"]) * US_PER_MS
    except (OSError, ValueError, TypeError, KeyError):
        return None


def query_id(checkpoint: Path) -> str:
    """Return the name that Spark gave the query when its checkpoint was made."""
    file = checkpoint / "metadata"
    try:
        return str(json.loads(file.read_text(encoding="utf-8"))["id"])
    except OSError as problem:
        raise CheckpointDamaged(checkpoint, file, problem.strerror or "it cannot be read") from None
    except (ValueError, TypeError, KeyError):
        raise CheckpointDamaged(checkpoint, file, "it names no query") from None
