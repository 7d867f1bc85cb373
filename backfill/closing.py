"""Closing the windows that are open at the end: the query's watermark goes to the end of all time.

Spark moves its watermark by the rows that it reads, and a row made for that could be dropped by any
filter before it is seen. But where a query goes on, its watermark is what the log of commits says.
So the query ends after the last record; its log is changed; and it goes on with a step of no rows.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

from backfill.query_log import committed
from headrace import state_files
from headrace.checkpoint import VERSION
from headrace.errors import Terminal

if TYPE_CHECKING:
    from pathlib import Path

# 9999-12-31T23:59:59Z, the last second that Spark can write.
END_MS: Final = 253_402_300_799_000
WATERMARK: Final = "nextBatchWatermarkMs"


def let_all_windows_end(checkpoint: Path) -> None:
    """Let the next batch of a query that has ended begin with the last watermark of all.

    Done again it changes nothing.
    """
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
    # The checksum is of what stood there; without one, none is asked for.
    file.with_name(f".{batch}.crc").unlink(missing_ok=True)
    state_files.write(file, f"{version}\n{json.dumps({**said, WATERMARK: END_MS})}".encode())
