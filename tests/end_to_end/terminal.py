"""A command on a terminal, as somebody sits before it."""

from __future__ import annotations

import contextlib
import os
import pty
import select
import signal
import subprocess
import termios
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from headrace.embedded.process import wait_until
from tests.end_to_end.commands import BIN
from tests.limits import LIMIT_S

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

READ_S: Final = 0.1


@dataclass
class Terminal:
    """Types keys, and collects what is shown."""

    process: subprocess.Popen[bytes]
    number: int
    shown: bytes = b""
    settings_before: list[object] = field(default_factory=list)

    def shows(self, text: str) -> bool:
        """Wait until a text was shown."""

        def is_there() -> bool:
            self._read()
            return text.encode() in self.shown

        return wait_until(is_there, LIMIT_S)

    def type(self, keys: str) -> None:
        os.write(self.number, keys.encode())

    def interrupt(self) -> None:
        """Press Ctrl-C."""
        self.process.send_signal(signal.SIGINT)

    def ends(self) -> int:
        """Wait for the end; what it still shows is read, or it would wait for us."""

        def is_over() -> bool:
            self._read()
            return self.process.poll() is not None

        assert wait_until(is_over, LIMIT_S), self.shown[-2000:]
        self._read()
        return self.process.returncode

    @property
    def is_as_it_was(self) -> bool:
        """Whether keys are shown, and sent by lines, as before the command."""
        return termios.tcgetattr(self.number)[:6] == self.settings_before[:6]

    def _read(self) -> None:
        with contextlib.suppress(OSError):
            while select.select([self.number], [], [], READ_S)[0]:
                self.shown += os.read(self.number, 65536)


@contextlib.contextmanager
def terminal(
    *command: str, cwd: Path, size: tuple[int, int] = (24, 80), **environment: str
) -> Iterator[Terminal]:
    """Run a console script on a terminal of so many lines and columns."""
    ours, its = pty.openpty()
    termios.tcsetwinsize(its, size)
    settings = list(termios.tcgetattr(its))
    variables = {key: value for key, value in os.environ.items() if key not in {"LINES", "COLUMNS"}}
    process = subprocess.Popen(
        [str(BIN / command[0]), *command[1:]],
        cwd=cwd,
        stdin=its,
        stdout=its,
        stderr=its,
        start_new_session=True,
        env=variables | {"TERM": "xterm-256color"} | environment,
    )
    try:
        yield Terminal(process, ours, settings_before=settings)
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()
        os.close(its)
        os.close(ours)
