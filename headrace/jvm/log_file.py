"""Rotation of the log of Spark's JVM, so that it takes a bounded space on the disk."""

from __future__ import annotations

import contextlib
import os
import shutil
import threading
import time
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from pathlib import Path

LARGEST_BYTES: Final = 16 * 2**20
OLDER_KEPT: Final = 3
LOOK_EVERY_S: Final = 30.0


class _WatchedLogs:
    """The logs that one thread of this process checks."""

    lock = threading.Lock()
    logs: Final[set[Path]] = set()


def keep_small(log: Path) -> None:
    """Rotate a log when it is large. A thread checks it as long as this process lives."""
    roll_over(log)
    with _WatchedLogs.lock:
        if not _WatchedLogs.logs:
            threading.Thread(target=_look, name="spark-logs", daemon=True).start()
        _WatchedLogs.logs.add(log)


def roll_over(log: Path, largest_bytes: int = LARGEST_BYTES) -> None:
    """Move what a log holds to `NAME.1` where it is large, and what is there to `NAME.2`.

    Its writers go on in the same file, which is empty then: they open it to append. A line that is
    written in this moment may be lost.
    """
    with contextlib.suppress(FileNotFoundError):
        if log.stat().st_size <= largest_bytes:
            return
        older = [log.with_name(f"{log.name}.{number}") for number in range(1, OLDER_KEPT + 1)]
        for number in reversed(range(1, OLDER_KEPT)):
            with contextlib.suppress(FileNotFoundError):
                older[number - 1].replace(older[number])
        try:
            shutil.copyfile(log, older[0])
        except OSError:
            # A full disk, of all times: what is new matters more.
            older[0].unlink(missing_ok=True)
        os.truncate(log, 0)


def _look() -> None:
    while True:
        time.sleep(LOOK_EVERY_S)
        with _WatchedLogs.lock:
            logs = list(_WatchedLogs.logs)
        for log in logs:
            # Its folder may have been removed, as tests do.
            with contextlib.suppress(OSError):
                roll_over(log)
