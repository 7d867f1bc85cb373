"""How a replay of a quarantine fares, on this host's disk: for the control room, and for later."""

from __future__ import annotations

import os
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import msgspec

from headrace import state_files
from headrace.errors import HeadraceError
from headrace.locks import holder

if TYPE_CHECKING:
    from pathlib import Path
    from types import TracebackType


@dataclass(frozen=True, slots=True)
class ReplayState:
    """The last replay: `read` of `records` that the topic had when it began, and its report.

    `ended_at` is None while it runs, and if it was killed. `problem` says why it failed.
    """

    pid: int
    started_at: str
    ended_at: str | None = None
    read: int = 0
    records: int | None = None
    report: dict[str, Any] = field(default_factory=dict)
    problem: str | None = None
    advice: str | None = None


def lock_in(folder: Path) -> Path:
    """Return the file that a replay holds; `folder` is that of the quarantine's state."""
    return folder / "replay.lock"


def last_replay(folder: Path) -> ReplayState | None:
    """Return the last replay of this host, None where there was none."""
    return state_files.find(_file_in(folder), ReplayState)


def is_running(folder: Path, replay: ReplayState | None) -> bool:
    """Whether that replay runs now."""
    return replay is not None and replay.ended_at is None and holder(lock_in(folder)) == replay.pid


class ReplayRecorder:
    """Writes the state of a replay while it runs, and how it ended; it holds the lock."""

    def __init__(self, folder: Path) -> None:
        self._path = _file_in(folder)
        self._state = ReplayState(os.getpid(), now())

    def __enter__(self) -> ReplayRecorder:
        self._write()
        return self

    def __exit__(
        self,
        _kind: type[BaseException] | None,
        problem: BaseException | None,
        _trace: TracebackType | None,
    ) -> None:
        said, advice = None, None
        if isinstance(problem, HeadraceError):
            said, advice = problem.message, problem.advice or None
        elif problem is not None:
            # Its words may name a secret.
            said = f"it failed with {type(problem).__name__}"
        self._state = replace(self._state, ended_at=now(), problem=said, advice=advice)
        self._write()

    def note(self, read: int, records: int, report: dict[str, Any]) -> None:
        """Note how far it is, and what became of the records until now."""
        self._state = replace(self._state, read=read, records=records, report=report)
        self._write()

    def _write(self) -> None:
        state_files.write(self._path, msgspec.json.encode(self._state), lasting=False)


def _file_in(folder: Path) -> Path:
    return folder / "replay.json"


def now() -> str:
    """Return the time as it is kept here: to the second, in UTC."""
    return datetime.now(UTC).isoformat(timespec="seconds")[:19] + "Z"
