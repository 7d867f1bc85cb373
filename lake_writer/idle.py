"""What is done between batches, when no records come: a thread that asks now and again."""

from __future__ import annotations

import contextlib
import threading
from typing import TYPE_CHECKING

import structlog

from headrace.errors import HeadraceError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

END_LIMIT_S = 60.0
log = structlog.get_logger(__name__)


@contextlib.contextmanager
def every(seconds: float, ask: Callable[[], None]) -> Iterator[None]:
    """Ask every so many seconds, for as long as the block runs; a failure is logged, and no more."""
    over = threading.Event()

    def go_on() -> None:
        while not over.wait(seconds):
            try:
                ask()
            except HeadraceError as problem:
                # The next batch meets the same, and deals with it.
                log.info("the topic could not be checked between batches", reason=problem.message)

    thread = threading.Thread(target=go_on, name="between batches", daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join(END_LIMIT_S)
