"""The watermark after the last record: at the end of all time, which closes what is open, or as live.

Spark moves its watermark by the rows that it reads, and a row made for that could be dropped by any
filter before it is seen. But where a query goes on, its watermark is what the log of commits says.
So the query ends after the last record; its log is changed; and it goes on with a step of no rows.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import msgspec

from backfill.query_log import committed
from headrace import state_files
from headrace.checkpoint import VERSION
from headrace.errors import Terminal

if TYPE_CHECKING:
    from pathlib import Path

# 9999-12-31T23:59:59Z, the last second that Spark can write.
END_MS: Final = 253_402_300_799_000
WATERMARK: Final = "nextBatchWatermarkMs"
MOVED: Final = "moved-to-live.json"


def let_all_windows_end(checkpoint: Path) -> None:
    """Let the next batch of a query that has ended begin with the last watermark of all.

    Done again it changes nothing.
    """
    _Commit.last(checkpoint).put(END_MS)


def move_to_live(checkpoint: Path, widened_by_ms: int) -> None:
    """Let the next batch begin with the watermark of a live run, which is not widened.

    Where the log stood is kept beside it: done again it changes nothing.
    """
    commit, kept = _Commit.last(checkpoint), checkpoint.with_name(MOVED)
    if kept.exists():
        moved = msgspec.json.decode(kept.read_bytes(), type=_Moved)
    else:
        moved = _Moved(commit.batch, commit.watermark_ms)
        state_files.write(kept, msgspec.json.encode(moved))
    # Nothing was seen where it has never moved.
    if moved.batch == commit.batch and moved.watermark_ms:
        commit.put(moved.watermark_ms + widened_by_ms)


class _Moved(NamedTuple):
    batch: int
    watermark_ms: int


@dataclass(frozen=True, slots=True)
class _Commit:
    """The last line of Spark's log of commits."""

    file: Path
    batch: int
    said: dict[str, Any]

    @classmethod
    def last(cls, checkpoint: Path) -> _Commit:
        batch = committed(checkpoint).batches[-1]
        file = checkpoint / "commits" / str(batch)
        try:
            version, text = file.read_text(encoding="utf-8").split("\n", 1)
            said = json.loads(text)
        except ValueError:
            version, said = "", None
        if version != VERSION or not isinstance(said, dict) or WATERMARK not in said:
            raise Terminal(
                f"Spark's log of commits names no watermark: {file}",
                "cancel the run and begin another, with --open-windows leave if this comes again",
            )
        return cls(file, batch, said)

    @property
    def watermark_ms(self) -> int:
        return int(self.said[WATERMARK])

    def put(self, watermark_ms: int) -> None:
        # The checksum is of what stood there; without one, none is asked for.
        self.file.with_name(f".{self.batch}.crc").unlink(missing_ok=True)
        said = json.dumps({**self.said, WATERMARK: watermark_ms})
        state_files.write(self.file, f"{VERSION}\n{said}".encode())
