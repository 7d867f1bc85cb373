"""Planning, starting, cancelling, publishing and comparing replays, by headrace's own commands.

A replay is a process by itself: it goes on when the control room ends. All else is waited for.
"""

from __future__ import annotations

import re
import subprocess
import threading
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

import psutil

from backfill.results.runs import runs_of
from backfill.results.stopping import has_ended
from backfill.run.request import new_run_id, state_of
from fleet.launches import (
    Launch,
    LaunchFolder,
    launch_of,
    make_room,
    now_text,
)
from fleet.own_commands import answer_in, answer_of, reap, start
from fleet.replay_command import replay_words
from fleet.replay_results import compare_words, has_own_output
from fleet.replayable import replayable
from fleet.tables_over_time import TablesOverTime
from headrace.errors import HeadraceError, Terminal
from headrace.http.replay_rows import Mistake, RequestRefused

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from backfill.results.runs import RunStatus
    from headrace.config.workspace.workspace import Workspace
    from headrace.http.replay_rows import ReplayChoices, TableOverTime

PLANNED_WITHIN_S: Final = 300.0
DONE_WITHIN_S: Final = 900.0
# So long a request waits for a cancelled replay; after that it goes on by itself.
CANCELLED_WITHIN_S: Final = 15.0
STARTED_WITHIN_S: Final = 5.0
MADE_HERE: Final = re.compile(r"replay-\d{8}-\d{6}-\d{6}")


class ReplayActs:
    """What the control room does with replays."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._lock = threading.Lock()
        self._tables: frozenset[str] = frozenset()
        self._over_time = TablesOverTime(workspace)

    def choices(self) -> ReplayChoices:
        """Return what can be replayed."""
        found = replayable(self._workspace).choices
        self._tables = frozenset(found.tables)
        return found

    def over_time(self, tables: Sequence[str]) -> list[TableOverTime]:
        """Return what tables hold over time, of those that are declared."""
        if not self._tables.issuperset(tables):
            # To read all files takes a while where there are hundreds: the form has just done so.
            self.choices()
        return [self._over_time.of(one) for one in dict.fromkeys(tables) if one in self._tables]

    def plan(self, request: Mapping[str, object]) -> Mapping[str, Any]:
        """Return what a replay would do."""
        words = replay_words(
            request, replayable(self._workspace), self._workspace, is_plan=True
        ).plan(self._workspace)
        found: Mapping[str, Any] = answer_of(words, self._workspace.root, PLANNED_WITHIN_S)
        return found

    def start(
        self, request: Mapping[str, object], run_id: str | None, plan: Mapping[str, Any] | None
    ) -> str:
        """Start a replay. One that was started under this name is the one that is asked for."""
        workspace = self._workspace
        if run_id is not None and MADE_HERE.fullmatch(run_id) is None:
            raise RequestRefused([Mistake("run_id", "it is not a name that was made here")])
        with self._lock:
            if run_id is not None and launch_of(workspace, run_id) is not None:
                return run_id
            words = replay_words(request, replayable(workspace), workspace, is_plan=False)
            name = run_id or new_run_id()
            make_room(workspace)
            asked = words.body.model_dump(mode="json", exclude_defaults=True)
            launch = Launch(name, now_text(), asked, None if plan is None else dict(plan))
            LaunchFolder(workspace, name).run(words.replay(workspace, name), workspace.root, launch)
        return name

    def cancel(self, run_id: str, *, delete_output: bool) -> Mapping[str, Any] | None:
        """End a replay for good: its process finishes its step, then its state is removed."""
        run, launch = self._run(run_id), launch_of(self._workspace, run_id)
        if run is None and launch is None:
            return None
        folder = LaunchFolder(self._workspace, run_id)
        if launch is not None and run is None and launch.cancelled is None:
            folder.keep(replace(launch, cancelled=now_text()))
            _end(launch.process)
            # It may have got as far as to keep its plan.
            run = self._run(run_id)
        if run is None:
            return {"run_id": run_id, "state": "cancelled"}
        if run.stage == "complete" and run.staged is None:
            raise Terminal(f"{run_id} is complete", "there is nothing left of it to cancel")
        if delete_output and not has_own_output(run):
            raise Terminal(
                f"the rows of {run_id} cannot be told from other rows in {run.to}",
                "cancel it without deleting its output",
            )
        # Kept before the run is gone, so that its page stays.
        known = launch or Launch(run_id, run.begun)
        folder.keep(replace(known, cancelled=now_text()))
        try:
            return self._cancel_run(run_id, delete_output=delete_output)
        except HeadraceError:
            folder.keep(replace(known, cancelled=None))
            raise

    def publish(self, run_id: str) -> Mapping[str, Any] | None:
        """Put the staged result of a replay into its table."""
        if self._run(run_id) is None:
            return None
        words = ["backfill", "publish", "-o", "json", f"--workspace={self._workspace.root}"]
        found: Mapping[str, Any] = answer_of(
            [*words, "--", run_id], self._workspace.root, DONE_WITHIN_S
        )
        return found

    def compare(self, run_id: str, options: Mapping[str, str]) -> Mapping[str, Any] | None:
        """Compare the staged result of a replay with the live one, and keep the comparison."""
        run = self._run(run_id)
        if run is None:
            return None
        record = state_of(self._workspace, run_id).require_record()
        words, shown = compare_words(run, record, options)
        found = answer_of(
            [*words, f"--workspace={self._workspace.root}"], self._workspace.root, DONE_WITHIN_S
        )
        LaunchFolder(self._workspace, run_id).keep_comparison({**found, **shown, "at": now_text()})
        return dict(found)

    def _cancel_run(self, run_id: str, *, delete_output: bool) -> Mapping[str, Any]:
        words = ["backfill", "cancel", "--stop", "-o", "json"]
        words += ["--delete-output"] if delete_output else []
        words += [f"--workspace={self._workspace.root}", "--", run_id]
        with LaunchFolder(self._workspace, run_id).cancel_log.open("w+b") as file:
            # It waits for the replay's step, which may take longer than anybody waits for a page.
            process = start(words, self._workspace.root, file, file, is_tied=False)
            reap(process)
            try:
                code = process.wait(CANCELLED_WITHIN_S)
            except subprocess.TimeoutExpired:
                return {"run_id": run_id, "state": "cancelling"}
            if code:
                answer_in(file, code, words)
        return {"run_id": run_id, "state": "cancelled"}

    def _run(self, run_id: str) -> RunStatus | None:
        # What a request names is compared with what is there, and never becomes a path by itself.
        return next((one for one in runs_of(self._workspace) if one.run_id == run_id), None)


def _end(process: psutil.Process | None) -> None:
    """End a replay that has not begun yet: it has delivered nothing."""
    if process is None:
        return
    try:
        process.terminate()
        if not has_ended(process, STARTED_WITHIN_S):
            process.kill()
            has_ended(process, STARTED_WITHIN_S)
    except psutil.NoSuchProcess:
        pass
