"""Replays that were started here: what was asked, which process runs it, what it said at its end.

Each has a folder `control-room/RUN_ID` in the state of the workspace. It stays when the run is
cancelled, so that its page does.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

import msgspec
import psutil

from fleet.own_commands import error_of, reap, start
from headrace import state_files
from headrace.errors import Transient

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from headrace.config.workspace.workspace import Workspace
    from headrace.errors import HeadraceError

FOLDER: Final = "control-room"
# Each may have a Spark of its own.
MOST_AT_WORK: Final = 4
KEPT: Final = 200
CLOCK_SLACK_S: Final = 0.01


@dataclass(frozen=True, slots=True)
class Launch:
    """A replay that was started here. `pid` and `started_s` name its process."""

    run_id: str
    begun: str
    asked: dict[str, Any] = field(default_factory=dict)
    plan: dict[str, Any] | None = None
    pid: int | None = None
    started_s: float = 0.0
    cancelled: str | None = None

    @property
    def process(self) -> psutil.Process | None:
        """Its process, as long as it runs."""
        if self.pid is None:
            return None
        try:
            found = psutil.Process(self.pid)
            # The number may be another process's by now.
            is_same = abs(found.create_time() - self.started_s) < CLOCK_SLACK_S
            return found if is_same and found.status() != psutil.STATUS_ZOMBIE else None
        except psutil.Error:
            return None


class LaunchFolder:
    """What is kept of a replay beside its own state."""

    def __init__(self, workspace: Workspace, run_id: str) -> None:
        self.folder = folder_of(workspace) / run_id
        self.log = self.folder / "replay.log"
        self.cancel_log = self.folder / "cancel.log"
        self._said = self.folder / "said.json"
        self._launch = self.folder / "launch.json"
        self._comparison = self.folder / "comparison.json"

    def launch(self) -> Launch | None:
        """Return how it was started; None where that was elsewhere."""
        return state_files.find(self._launch, Launch)

    def keep(self, launch: Launch) -> None:
        """Keep how it was started."""
        state_files.write(self._launch, msgspec.json.encode(launch))

    def run(self, words: Sequence[str], root: Path, launch: Launch) -> None:
        """Start its process, which goes on without this one."""
        state_files.make_folder(self.folder)
        # Known before its process is: of a name there is never a second one.
        self.keep(launch)
        with self._said.open("w+b") as said, self.log.open("wb") as log:
            process = start(words, root, said, log, is_tied=False)
        reap(process)
        try:
            started_s = psutil.Process(process.pid).create_time()
        except psutil.Error:
            started_s = 0.0
        self.keep(replace(launch, pid=process.pid, started_s=started_s))

    def problem(self) -> HeadraceError | None:
        """Return the error that its process has ended with."""
        try:
            said = json.loads(self._said.read_text(encoding="utf-8").splitlines()[-1])
            return error_of(said["error"], int(said["error"].get("exit_code", 1)))
        except (OSError, ValueError, IndexError, KeyError, TypeError):
            return None

    def keep_comparison(self, found: Mapping[str, Any]) -> None:
        """Keep the last comparison of its result."""
        state_files.write(self._comparison, msgspec.json.encode(found))

    def comparison(self) -> dict[str, Any] | None:
        """Return the last comparison of its result."""
        return state_files.find(self._comparison, dict[str, Any])


def folder_of(workspace: Workspace) -> Path:
    """Return the folder that has a folder for each replay."""
    return workspace.state_dir / FOLDER


def launch_of(workspace: Workspace, run_id: str) -> Launch | None:
    """Return how a replay was started; None where that was not here.

    What a request names is compared with what is there, and never becomes a path by itself.
    """
    if run_id not in {one.name for one in folder_of(workspace).glob("[!.]*")}:
        return None
    return LaunchFolder(workspace, run_id).launch()


def launches(workspace: Workspace) -> list[Launch]:
    """Return what was started here, the newest first."""
    names = [one.name for one in folder_of(workspace).glob("[!.]*") if one.is_dir()]
    found = [LaunchFolder(workspace, name).launch() for name in names]
    known = [one for one in found if one is not None]
    return sorted(known, key=lambda one: (one.begun, one.run_id), reverse=True)


def make_room(workspace: Workspace) -> None:
    """Refuse one more replay where many are at work; forget the oldest of those that have ended."""
    known = launches(workspace)
    at_work = [one.run_id for one in known if one.process is not None]
    if len(at_work) >= MOST_AT_WORK:
        raise Transient(
            f"{len(at_work)} replays that were started here are at work: {', '.join(at_work)}",
            "wait until one has ended, or start this one in a terminal: backfill replay",
        )
    for one in known[KEPT:]:
        if one.run_id not in at_work:
            state_files.remove_folder(LaunchFolder(workspace, one.run_id).folder)


def now_text() -> str:
    """Return the time now, as the API writes it."""
    return f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%S.%fZ}"
