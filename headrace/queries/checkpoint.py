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
            f"remove the folder {checkpoint}: an output's ledger or the table stores the offsets, "
            "too, and the query continues from them",
        )


def committed_batches(checkpoint: Path) -> list[int]:
    """Return the batches that Spark's log of commits has, the oldest first."""
    return sorted(batches_in(checkpoint / "commits"))


def batches_in(log: Path) -> set[int]:
    """Return the batches that one of Spark's logs has."""
    return {int(file.name) for file in log.glob("*") if file.name.isdecimal()}


def watermark_us(checkpoint: Path) -> int | None:
    """Return how far the watermark of a query is; None where it has no batch behind it, or none."""
    batches = committed_batches(checkpoint)
    if not batches:
        return None
    file = checkpoint / "commits" / str(batches[-1])
    try:
        _, text = file.read_text(encoding="utf-8").split("\n", 1)
        return int(json.loads(text)["nextBatchWatermarkMs"]) * US_PER_MS
    except (OSError, ValueError, TypeError, KeyError):
        return None


def query_id(checkpoint: Path) -> str:
    """Return the name that Spark gave the query when its checkpoint was made."""
    file = checkpoint / "metadata"
    try:
        return str(json.loads(file.read_bytes())["id"])
    except OSError as problem:
        raise CheckpointDamaged(checkpoint, file, problem.strerror or "it cannot be read") from None
    except (ValueError, TypeError, KeyError):
        raise CheckpointDamaged(checkpoint, file, "it names no query") from None
