"""The commands of headrace as processes: what they answer, and what goes on without us."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import threading
from typing import TYPE_CHECKING, Any, BinaryIO, Final

from headrace.errors import HeadraceError, Terminal, Transient, UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

# What starts Spark takes a part of this machine: more at a time would slow all of them down.
MOST_AT_ONCE: Final = 2
# An answer is a plan or a comparison: some kilobytes.
MOST_ANSWERED: Final = 16 * 1024 * 1024
WRONG_USE, BAD_CONFIG = 2, 78
_slots = threading.BoundedSemaphore(MOST_AT_ONCE)


def answer_of(words: Sequence[str], root: Path, within_s: float) -> Any:  # noqa: ANN401 - JSON
    """Run a command that prints JSON to its end, and return that; raise the error that it has.

    It ends with this process. Where too many run, it is refused.
    """
    if not _slots.acquire(blocking=False):
        raise Transient(
            f"{MOST_AT_ONCE} plans, comparisons or publications are being made at this moment",
            "try again in a while",
        )
    try:
        with tempfile.TemporaryFile() as said, tempfile.TemporaryFile() as log:
            process = start(words, root, said, log, is_tied=True)
            try:
                code = process.wait(within_s)
            except subprocess.TimeoutExpired:
                raise Transient(
                    f"headrace {' '.join(words[:2])} has not ended within {within_s:g} s",
                    "run the command in a terminal: there it may take as long as it takes",
                ) from None
            finally:
                _end(process)
            return answer_in(said, code, words)
    finally:
        _slots.release()


def start(
    words: Sequence[str], root: Path, said: BinaryIO, log: BinaryIO, *, is_tied: bool
) -> subprocess.Popen[bytes]:
    """Start a command of headrace in a workspace. One that is not tied outlives this process.

    A tied one ends with the thread that starts it.
    """
    tether = [sys.executable, "-m", "headrace.embedded.tether", str(os.getpid())]
    # A session of its own: Ctrl-C in the terminal of this process is not for it.
    return subprocess.Popen(
        [*(tether if is_tied else []), sys.executable, "-m", "headrace.cli.main", *words],
        cwd=root,
        stdin=subprocess.DEVNULL,
        stdout=said,
        stderr=log,
        start_new_session=True,
    )


def reap(process: subprocess.Popen[bytes]) -> None:
    """Take note of the end of a process that nobody waits for."""
    threading.Thread(target=process.wait, name="reap", daemon=True).start()


def answer_in(said: BinaryIO, code: int, words: Sequence[str]) -> Any:  # noqa: ANN401 - JSON
    """Return what a command has printed; raise the error that it has ended with."""
    said.seek(0)
    found = _json_in(said.read(MOST_ANSWERED))
    if isinstance(found, dict) and "error" in found:
        raise error_of(found["error"], code)
    if found is None:
        raise Terminal(
            f"headrace {' '.join(words[:2])} ended with exit code {code} and without an answer",
            "the same command in a terminal says more",
        )
    return found


def _json_in(text: bytes) -> Any:  # noqa: ANN401 - JSON
    try:
        return json.loads(text)
    except ValueError:
        # An error comes last, in a line of its own, after whatever else was printed.
        lines = text.decode(errors="replace").splitlines()
        try:
            return json.loads(lines[-1]) if lines else None
        except ValueError:
            return None


def error_of(said: dict[str, Any], code: int) -> HeadraceError:
    """Return the error that a command has printed as JSON."""
    problems = [
        f"{one.get('file')}:{one.get('line')}: {one.get('message')}"
        for one in said.get("problems") or []
    ]
    message = "; ".join([str(said.get("message")), *problems])
    advice = str(said.get("advice") or "")
    if said.get("retry"):
        return Transient(message, advice)
    if code == WRONG_USE:
        return UsageError(message, advice)
    return Terminal(message, advice)


def _end(process: subprocess.Popen[bytes]) -> None:
    if process.poll() is None:
        process.terminate()
        try:
            process.wait(5)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
