"""What Spark's checkpoint of a query says of a batch: up to which offsets it goes.

Its rows do not say: the last offsets of a range may hold no record, where a transaction ended or
compaction took it. Spark writes its plan down before a batch begins.
"""

from __future__ import annotations

import json
import shutil
import zlib
from typing import TYPE_CHECKING

import structlog

from headrace.errors import Terminal

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

VERSION = "v1"
US_PER_MS = 1000
# How Hadoop's local files keep their checksums: a header, then four bytes for each piece.
CHECKSUMS = b"crc\0" + (512).to_bytes(4, "big")
PIECE_BYTES = 512
log = structlog.get_logger(__name__)


class CheckpointDamaged(Terminal):
    """A file of a checkpoint that cannot be read."""

    def __init__(self, checkpoint: Path, file: Path, why: str) -> None:
        self.file = file
        super().__init__(
            f"the checkpoint file {file} is damaged: {why}",
            f"remove the folder {checkpoint}: an output's ledger or the table stores the offsets, "
            "too, and the query continues from them",
        )


def batch_ends(checkpoint: Path, batch: int, topic: str) -> dict[int, int]:
    """Return the next offset after a batch, for each partition."""
    file = checkpoint / "offsets" / str(batch)
    try:
        lines = _content(checkpoint, file).decode().splitlines()
        if lines[:1] != [VERSION] or len(lines) < 3:
            raise CheckpointDamaged(
                checkpoint, file, f"it has {len(lines)} lines, but not the version {VERSION}"
            )
        offsets = json.loads(lines[2])
        return {int(number): int(offset) for number, offset in offsets[topic].items()}
    except KeyError:
        raise CheckpointDamaged(checkpoint, file, f"it is of another topic than {topic}") from None
    except (ValueError, TypeError, AttributeError):
        raise CheckpointDamaged(checkpoint, file, "it is not a list of offsets") from None


def committed_batches(checkpoint: Path) -> list[int]:
    """Return the batches that Spark's log of commits has, the oldest first."""
    names = (file.name for file in (checkpoint / "commits").glob("*"))
    return sorted(int(name) for name in names if name.isdecimal())


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
        return str(json.loads(_content(checkpoint, file))["id"])
    except (ValueError, TypeError, KeyError):
        raise CheckpointDamaged(checkpoint, file, "it names no query") from None


def fit(checkpoint: Path, topic: str, positions: Mapping[int, int]) -> None:
    """Make a checkpoint fit for members at these positions, or begin a new one.

    The ledgers are what counts. A checkpoint that is ahead of one of them (its output is new, or
    came from another query) would skip what the output still has to do; one that lacks a file that
    Spark goes on from is of no use. A damaged one is an error.
    """
    last, done = _newest(checkpoint / "offsets"), _newest(checkpoint / "commits")
    if last is None:
        if checkpoint.exists():
            shutil.rmtree(checkpoint)
        return
    for file in _read_by_spark(checkpoint, last, done):
        _require_whole(checkpoint, file)
    if _lacks_a_batch(checkpoint, last, done) or _is_ahead(
        checkpoint, topic, positions, last, done
    ):
        log.info("a query begins a new checkpoint from the ledgers", checkpoint=str(checkpoint))
        shutil.rmtree(checkpoint)


def _read_by_spark(checkpoint: Path, last: int, done: int | None) -> Iterator[Path]:
    """Yield what is there of the files that Spark reads when it goes on."""
    batches = [checkpoint / "offsets" / str(number) for number in (last - 1, last)]
    commits = [checkpoint / "commits" / str(done)]
    sources = sorted((checkpoint / "sources").glob("*/[0-9]*"))
    for file in (checkpoint / "metadata", *batches, *commits, *sources):
        if file.exists():
            yield file


def _require_whole(checkpoint: Path, file: Path) -> None:
    """Hold a file against the checksums that were written with it."""
    content = _content(checkpoint, file)
    if not content:
        raise CheckpointDamaged(checkpoint, file, "it is empty")
    kept = file.with_name(f".{file.name}.crc")
    known = kept.read_bytes() if kept.exists() else b""
    if known.startswith(CHECKSUMS) and known != CHECKSUMS + _checksums(content):
        raise CheckpointDamaged(checkpoint, file, "its checksum does not match")


def _content(checkpoint: Path, file: Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError as problem:
        raise CheckpointDamaged(checkpoint, file, problem.strerror or "it cannot be read") from None


def _checksums(content: bytes) -> bytes:
    pieces = (content[at : at + PIECE_BYTES] for at in range(0, len(content), PIECE_BYTES))
    return b"".join(zlib.crc32(piece).to_bytes(4, "big") for piece in pieces)


def _lacks_a_batch(checkpoint: Path, last: int, done: int | None) -> bool:
    if done is not None and done > last:
        return True
    return last > 0 and not (checkpoint / "offsets" / str(last - 1)).exists()


def _is_ahead(
    checkpoint: Path, topic: str, positions: Mapping[int, int], last: int, done: int | None
) -> bool:
    # Both are read by Spark: that they can be is known before it starts.
    newest_ends = batch_ends(checkpoint, last, topic)
    ends = newest_ends if done == last else None
    if ends is None and done is not None and (checkpoint / "offsets" / str(done)).exists():
        ends = batch_ends(checkpoint, done, topic)
    return ends is not None and any(
        ends.get(number, position) > position for number, position in positions.items()
    )


def _newest(folder: Path) -> int | None:
    try:
        numbers = [int(file.name) for file in folder.iterdir() if file.name.isdecimal()]
    except OSError:
        return None
    return max(numbers, default=None)
