"""A stage that runs in a thread while a test does something to its topic, schema or table."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
from typing import TYPE_CHECKING

from headrace.embedded.process import wait_until
from headrace.signals import Drain
from tests.limits import LIMIT_S

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


class Live:
    """A run under way."""

    def __init__(self, run: Callable[[Drain], object], drain: Drain) -> None:
        self.problem: Exception | None = None

        def go() -> None:
            try:
                run(drain)
            except Exception as problem:  # noqa: BLE001 - told to the thread that waits
                self.problem = problem

        self._thread = threading.Thread(target=go)
        self._thread.start()

    def ended(self) -> bool:
        return not self._thread.is_alive()

    def end(self) -> None:
        """Wait for its end, and raise why; once."""
        self._thread.join(LIMIT_S)
        assert self.ended()
        problem, self.problem = self.problem, None
        if problem is not None:
            raise problem


@contextlib.contextmanager
def until_drained(run: Callable[[Drain], object]) -> Iterator[Live]:
    """Run until the end of the block, then drain."""
    with Drain() as drain:
        running = Live(run, drain)
        try:
            yield running
        finally:
            os.kill(os.getpid(), signal.SIGTERM)
            assert wait_until(running.ended, LIMIT_S)
    running.end()
