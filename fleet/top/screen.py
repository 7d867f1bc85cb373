"""The overview on a terminal: a frame every other second, until somebody ends it."""

from __future__ import annotations

import contextlib
import os
import select
import sys
import termios
import threading
import time
import tty
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from rich.console import Console, Group
from rich.live import Live

from fleet.top.frame import Head, as_text, frame
from fleet.top.rows import Rates
from headrace.errors import HeadraceError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from rich.text import Text

    from fleet.top.rows import Key
    from fleet.top.sources import Reading
    from headrace.signals import Drain

EVERY_S: Final = 2.0
KEY_WITHIN_S: Final = 0.2
MOST_KEYS: Final = 64


@dataclass(frozen=True, slots=True)
class Shown:
    """The last reading there was, its rates, and why there is no newer one."""

    reading: Reading | None = None
    rates: dict[Key, float] | None = None
    at: str = ""
    problem: str | None = None


def one_frame(ask: Callable[[], Reading], drain: Drain) -> str:
    """Return everything as columns; a rate takes two readings."""
    rates = Rates()
    first = ask()
    rates.of(first.rows, first.at_s)
    if all(one.done is None for one in first.rows) or drain.wait(EVERY_S):
        return as_text(first.rows, {})
    second = ask()
    return as_text(second.rows, rates.of(second.rows, second.at_s))


class Screen:
    """Asks in a thread of its own, so that a cluster that is away delays no key."""

    def __init__(self, workspace: str, ask: Callable[[], Reading], drain: Drain) -> None:
        self._workspace = workspace
        self._ask = ask
        self._drain = drain
        self._shown = Shown()

    def run(self) -> None:
        """Show frames until q or Ctrl-C."""
        threading.Thread(target=self._keep_asking, name="asks", daemon=True).start()
        console = Console()
        before: tuple[Shown, tuple[int, int]] | None = None
        with (
            keys(self._drain) as pressed,
            Live(console=console, screen=True, auto_refresh=False) as live,
        ):
            while not self._drain.requested:
                size = console.size
                now = self._shown, (size.width, size.height)
                if now != before:
                    live.update(Group(*self._frame(*now)), refresh=True)
                    before = now
                if "q" in pressed(KEY_WITHIN_S).lower():
                    return

    def _frame(self, shown: Shown, size: tuple[int, int]) -> list[Text]:
        reading = shown.reading
        source = "loading …" if reading is None else reading.source
        head = Head(self._workspace, source, shown.at, shown.problem)
        rows = () if reading is None else reading.rows
        return frame(head, rows, shown.rates or {}, *size)

    def _keep_asking(self) -> None:
        rates = Rates()
        while not self._drain.requested:
            began_s = time.monotonic()
            try:
                reading = self._ask()
                found = rates.of(reading.rows, reading.at_s)
                self._shown = Shown(reading, found, _now())
            except Exception as problem:  # noqa: BLE001 - without it, the last figures would stay as if they were new
                last = self._shown
                why = problem.message if isinstance(problem, HeadraceError) else repr(problem)
                self._shown = Shown(last.reading, last.rates, last.at, why)
            self._drain.wait(max(0.0, EVERY_S - (time.monotonic() - began_s)))


@contextlib.contextmanager
def keys(drain: Drain) -> Iterator[Callable[[float], str]]:
    """Give what waits for keys, which need no Enter; where nobody can type, it only waits."""
    if not sys.stdin.isatty():

        def wait(limit_s: float) -> str:
            drain.wait(limit_s)
            return ""

        yield wait
        return
    number = sys.stdin.fileno()
    as_it_was = termios.tcgetattr(number)

    def pressed(limit_s: float) -> str:
        ready, _, _ = select.select([number], [], [], limit_s)
        return os.read(number, MOST_KEYS).decode(errors="replace") if ready else ""

    tty.setcbreak(number)
    try:
        yield pressed
    finally:
        termios.tcsetattr(number, termios.TCSADRAIN, as_it_was)


def _now() -> str:
    return datetime.now(UTC).strftime("%H:%M:%SZ")
