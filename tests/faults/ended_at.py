"""Work that ends at a chosen moment of a write of state: in this process, or in one that is killed.

python -m tests.faults.ended_at N backfill WORDS… runs the command, and kills it at its moment N.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import signal
import sys
import threading
from typing import TYPE_CHECKING

from headrace import state_files

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path


class Ended(BaseException):
    """A process that is no more: nothing that catches errors catches it."""


@contextlib.contextmanager
def ended_at(moment: int | str) -> Iterator[list[str]]:
    """End the block at that moment of a write, by its number or as `half run.json`.

    Gives the moments so far.
    """

    def end() -> None:
        raise Ended

    moments: list[str] = []
    state_files.watched_by(_at(moment, moments, end))
    try:
        yield moments
    finally:
        state_files.watched_by(None)


def _at(
    wanted: int | str, moments: list[str], end: Callable[[], None]
) -> Callable[[state_files.Moment, Path], None]:
    def tell(moment: state_files.Moment, path: Path) -> None:
        # What another thread measures meanwhile comes at no certain moment.
        if threading.current_thread() is threading.main_thread():
            moments.append(f"{moment} {path.name}")
            if wanted in {len(moments) - 1, moments[-1]}:
                end()

    return tell


def _killed() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    state_files.watched_by(_at(int(sys.argv[1]), [], _killed))
    sys.argv = sys.argv[2:]
    importlib.import_module(f"{sys.argv[0]}.cli").main()
