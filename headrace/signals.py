"""Ending in order: the first signal asks for a drain, a second Ctrl-C insists."""

from __future__ import annotations

import _thread
import json
import os
import signal
import sys
import threading
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final, Self

from headrace.log import FORMAT_VARIABLE

if TYPE_CHECKING:
    from types import FrameType

STOPPING: Final = "stopping: what is at hand is finished first; Ctrl-C again insists"


class Drain:
    """Listens for SIGINT and SIGTERM while it is entered.

    The first of them only sets `requested`; a second SIGINT raises KeyboardInterrupt. The user is
    told that what is at hand is finished first, unless there is nothing of that kind.
    """

    def __init__(self, *, announces: bool = True) -> None:
        self._announces = announces
        self._asked = threading.Event()
        self._is_requested = False
        self._previous: list[tuple[signal.Signals, object]] = []

    def __enter__(self) -> Self:
        for number in (signal.SIGINT, signal.SIGTERM):
            self._previous.append((number, signal.signal(number, self._on_signal)))
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._previous:
            signal.signal(number, handler)  # type: ignore[arg-type]  # what signal() gave us back
        self._previous.clear()

    @property
    def requested(self) -> bool:
        """Whether somebody asked us to end."""
        return self._is_requested or self._asked.is_set()

    def wait(self, limit_s: float) -> bool:
        """Wait for the request, at most so long; whether it came."""
        return self._asked.wait(limit_s) or self._is_requested

    def _on_signal(self, number: int, _frame: FrameType | None) -> None:
        if self._is_requested and number == signal.SIGINT:
            raise KeyboardInterrupt
        if not self._is_requested and self._announces:
            # os.write: the signal may have come in the middle of a print.
            os.write(sys.stderr.fileno(), _stopping().encode())
        self._is_requested = True
        # The signal may have come while this very thread held the lock of the event, in the midst of
        # waiting: it would wait for itself for ever.
        _thread.start_new_thread(self._asked.set, ())


def _stopping() -> str:
    """Return the line as the log's other lines are."""
    if os.environ.get(FORMAT_VARIABLE) != "json":
        return f"\n{STOPPING}\n"
    line = {"event": STOPPING, "level": "info", "timestamp": datetime.now(UTC).isoformat()}
    return f"{json.dumps(line)}\n"
