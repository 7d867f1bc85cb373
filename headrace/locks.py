"""One owner at a time for a piece of state; the kernel lets go however the owner ends."""

from __future__ import annotations

import contextlib
import fcntl
import os
import time
from typing import TYPE_CHECKING, Final

import psutil

from headrace.errors import Terminal
from headrace.state_files import make_folder

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path
    from typing import TextIO

CLOCK_SLACK_S: Final = 2.0
FIRST_HIGH: Final = 1024
ASKED_FOR_S: Final = (0.01, 0.04)


class AlreadyRunning(Terminal):
    """State that another process works on."""

    def __init__(self, what: str, holder: str, advice: str) -> None:
        super().__init__(f"{what} already runs ({holder})", advice)


@contextlib.contextmanager
def hold(path: Path, what: str, advice: str) -> Iterator[TextIO]:
    """Hold a lock file; whoever comes second is refused, with who holds it."""
    make_folder(path.parent)
    with _opened(path) as file:
        try:
            _take(file)
        except OSError:
            file.seek(0)
            raise AlreadyRunning(what, file.read() or "it is just starting", advice) from None
        describe(file, f"pid {os.getpid()}")
        try:
            yield file
        finally:
            # So that whoever asks who holds it need not try to.
            describe(file, "")


def _take(file: TextIO) -> None:
    """Lock a file. Who only asks whether it is held has it for a moment, and is waited for."""
    for pause_s in (*ASKED_FOR_S, None):
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            if pause_s is None:
                raise
            time.sleep(pause_s)
        else:
            return


def is_held(path: Path) -> bool:
    """Whether any process holds a lock file; the file stays as it is."""
    try:
        with path.open(encoding="utf-8") as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except FileNotFoundError:
        return False
    except OSError:
        return True
    return False


def _opened(path: Path) -> TextIO:
    """Open a lock file under a high number, where the system has one.

    Thousands are held at once, and what waits by select(), as PySpark does, knows no number above 1023.
    """
    file = path.open("a+", encoding="utf-8")
    try:
        high = fcntl.fcntl(file, fcntl.F_DUPFD_CLOEXEC, FIRST_HIGH)
    except OSError:
        return file
    file.close()
    return os.fdopen(high, "a+", encoding="utf-8")


def holder(path: Path) -> int | None:
    """Return the process of this host that holds a lock file, None where nobody does.

    It only reads: asking for the lock would refuse whoever wants it at the same moment.
    """
    try:
        text, taken_at_s = path.read_text(encoding="utf-8"), path.stat().st_mtime
    except OSError:
        return None
    pid = text.removeprefix("pid ").partition(",")[0]
    try:
        started_s = psutil.Process(int(pid)).create_time()
    except (ValueError, psutil.Error):
        return None
    # A killed holder's number may be another process's by now.
    return int(pid) if started_s <= taken_at_s + CLOCK_SLACK_S else None


def describe(held: TextIO, text: str) -> None:
    """Say in the lock file who holds it."""
    held.seek(0)
    held.truncate()
    held.write(text)
    held.flush()


class Claim:
    """A lock that is asked for without waiting, and kept until it is released or the process ends."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file: TextIO | None = None

    def is_ours(self) -> bool:
        """Whether this process has it, or gets it now."""
        if self._file is None:
            file = self._path.open("a+", encoding="utf-8")
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                file.close()
                return False
            self._file = file
        return True

    def release(self) -> None:
        """Leave it to others."""
        if self._file is not None:
            self._file.close()
            self._file = None
