"""What Spark's checkpoint of a query says of a batch: up to which offsets it goes.

Its rows do not say: the last offsets of a range may hold no record, where a transaction ended or
compaction took it. Spark writes its plan down before a batch begins.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias, TypeVar

import msgspec

from headrace import state_files
from headrace.errors import Terminal

if TYPE_CHECKING:
    from headrace.queries.hadoop_path import HadoopPath

# Where a checkpoint lies: on the driver's disk, or where the machines of a cluster reach it.
Place: TypeAlias = "Path | HadoopPath"
T = TypeVar("T")

VERSION = "v1"
US_PER_MS = 1000


class CheckpointDamaged(Terminal):
    """A file of a checkpoint that cannot be read."""

    def __init__(self, checkpoint: Place, file: Place, why: str) -> None:
        self.file = file
        super().__init__(
            f"the checkpoint file {file} is damaged: {why}",
            f"remove the folder {checkpoint}: an output's ledger or the table stores the offsets, "
            "too, and the query continues from them",
        )


def location_of(checkpoint: Place) -> str:
    """Return what tells Spark where it is, whatever the cluster's own file system is."""
    return f"file://{checkpoint.absolute()}" if isinstance(checkpoint, Path) else str(checkpoint)


def keep(file: Place, content: bytes) -> None:
    """Keep a small file beside a checkpoint."""
    if isinstance(file, Path):
        state_files.write(file, content)
    else:
        file.write(content)


def kept(file: Place, kind: type[T], advice: str) -> T:
    """Read a small file that is kept beside a checkpoint."""
    if isinstance(file, Path):
        return state_files.read(file, kind, advice)
    try:
        return msgspec.json.decode(file.read_bytes(), type=kind)
    except (ValueError, msgspec.MsgspecError) as problem:
        raise Terminal(f"{file} cannot be read: {problem}", advice) from None


def mirror(checkpoint: HadoopPath, copy: Path) -> None:
    """Copy the logs of a checkpoint, for those who look at them without a Spark."""
    for log in ("offsets", "commits"):
        there = {int(one.name): one for one in (checkpoint / log).glob("[0-9]*")}
        known = batches_in(copy / log)
        for batch in sorted(there):
            # The newest may have been changed since.
            if batch not in known or batch == max(there):
                file = copy / log / str(batch)
                state_files.write(file, there[batch].read_bytes(), lasting=False)


def committed_batches(checkpoint: Place) -> list[int]:
    """Return the batches that Spark's log of commits has, the oldest first."""
    return sorted(batches_in(checkpoint / "commits"))


def batches_in(log: Place) -> set[int]:
    """Return the batches that one of Spark's logs has."""
    return {int(file.name) for file in log.glob("*") if file.name.isdecimal()}


def watermark_us(checkpoint: Place) -> int | None:
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


def query_id(checkpoint: Place) -> str:
    """Return the name that Spark gave the query when its checkpoint was made."""
    file = checkpoint / "metadata"
    try:
        return str(json.loads(file.read_bytes())["id"])
    except OSError as problem:
        raise CheckpointDamaged(checkpoint, file, problem.strerror or "it cannot be read") from None
    except (ValueError, TypeError, KeyError):
        raise CheckpointDamaged(checkpoint, file, "it names no query") from None
