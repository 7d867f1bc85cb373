"""Ending in order: the first signal asks for a drain, a second Ctrl-C insists."""

from __future__ import annotations

import os
import signal
import sys
import threading
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from types import FrameType

STOPPING = b"\nstopping: what is at hand is finished first; Ctrl-C again insists\n"


class Drain:
    """Listens for SIGINT and SIGTERM while it is entered.

    The first of them only sets `requested`; a second SIGINT raises KeyboardInterrupt.
    """

    def __init__(self) -> None:
        self._asked = threading.Event()
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
        return self._asked.is_set()

    def wait(self, limit_s: float) -> bool:
        """Wait for the request, at most so long; whether it came."""
        return self._asked.wait(limit_s)

    def _on_signal(self, number: int, _frame: FrameType | None) -> None:
        if self._asked.is_set() and number == signal.SIGINT:
            raise KeyboardInterrupt
        if not self._asked.is_set():
            # os.write: the signal may have come in the middle of a print.
            os.write(sys.stderr.fileno(), STOPPING)
        self._asked.set()
