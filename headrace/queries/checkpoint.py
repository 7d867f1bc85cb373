"""Whether Spark's checkpoint of a query is whole, and fits the places of the query's members."""

from __future__ import annotations

import shutil
import zlib
from typing import TYPE_CHECKING

import structlog

from headrace.checkpoint import CheckpointDamaged, batch_ends

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

# How Hadoop's local files keep their checksums: a header, then four bytes for each piece.
CHECKSUMS = b"crc\0" + (512).to_bytes(4, "big")
PIECE_BYTES = 512
log = structlog.get_logger(__name__)


def fit(checkpoint: Path, topic: str, places: Mapping[int, int]) -> None:
    """Make a checkpoint fit for members at these places, or begin it anew.

    The ledgers are what counts. A checkpoint that is ahead of one of them (its output is new, or
    came from another query) would skip what the output still has to do; one that lacks a file that
    Spark goes on from is of no use. A damaged one is told: that is no matter of course.
    """
    last, done = _newest(checkpoint / "offsets"), _newest(checkpoint / "commits")
    if last is None:
        if checkpoint.exists():
            shutil.rmtree(checkpoint)
        return
    for file in _read_by_spark(checkpoint, last, done):
        _require_whole(checkpoint, file)
    if _lacks_a_batch(checkpoint, last, done) or _is_ahead(checkpoint, topic, places, last, done):
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
    try:
        content = file.read_bytes()
    except OSError as problem:
        raise CheckpointDamaged(checkpoint, file, problem.strerror or "it cannot be read") from None
    if not content:
        raise CheckpointDamaged(checkpoint, file, "it is empty")
    kept = file.with_name(f".{file.name}.crc")
    known = kept.read_bytes() if kept.exists() else b""
    if known.startswith(CHECKSUMS) and known != CHECKSUMS + _checksums(content):
        raise CheckpointDamaged(checkpoint, file, "its checksum is another")


def _checksums(content: bytes) -> bytes:
    pieces = (content[at : at + PIECE_BYTES] for at in range(0, len(content), PIECE_BYTES))
    return b"".join(zlib.crc32(piece).to_bytes(4, "big") for piece in pieces)


def _lacks_a_batch(checkpoint: Path, last: int, done: int | None) -> bool:
    if done is not None and done > last:
        return True
    return last > 0 and not (checkpoint / "offsets" / str(last - 1)).exists()


def _is_ahead(
    checkpoint: Path, topic: str, places: Mapping[int, int], last: int, done: int | None
) -> bool:
    # Both are read by Spark: that they can be is known before it starts.
    newest_ends = batch_ends(checkpoint, last, topic)
    ends = newest_ends if done == last else None
    if ends is None and done is not None and (checkpoint / "offsets" / str(done)).exists():
        ends = batch_ends(checkpoint, done, topic)
    return ends is not None and any(
        ends.get(number, place) > place for number, place in places.items()
    )


def _newest(folder: Path) -> int | None:
    try:
        numbers = [int(file.name) for file in folder.iterdir() if file.name.isdecimal()]
    except OSError:
        return None
    return max(numbers, default=None)
