"""Replays that were started here: what their pages say before there is a plan, and after it is gone."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from dataclasses import replace
from typing import TYPE_CHECKING

import psutil
import pytest

from fleet.launches import MOST_AT_WORK, Launch, LaunchFolder, launch_of, launches, make_room
from fleet.own_commands import answer_of, start
from fleet.replay_acts import ReplayActs
from fleet.replays import Replays
from headrace.config.load import load_workspace
from headrace.embedded.process import wait_until
from headrace.errors import Terminal, Transient, UsageError
from headrace.http.replay_rows import RequestRefused
from tests.limits import LIMIT_S
from tests.unit.config.workspaces import SOUND, Files

if TYPE_CHECKING:
    from pathlib import Path

    from headrace.config.workspace.workspace import Workspace

RUN = "replay-20260301-120000-000000"
ASKED = {"tables": ["lake.playback.starts"], "start_ts": "2026-03-01", "end_ts": "2026-03-02"}


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    made = Files(tmp_path)
    for name, text in SOUND.items():
        made.write(name, text)
    return load_workspace(tmp_path)


def launched(workspace: Workspace, run_id: str = RUN, *, runs: bool = False) -> Launch:
    own = psutil.Process(os.getpid())
    launch = Launch(run_id, "2026-03-01T12:00:00.000000Z", ASKED)
    if runs:
        launch = replace(launch, pid=own.pid, started_s=own.create_time())
    LaunchFolder(workspace, run_id).keep(launch)
    return launch


def said(workspace: Workspace, text: str) -> None:
    (LaunchFolder(workspace, RUN).folder / "said.json").write_text(text, encoding="utf-8")


def test_a_replay_is_shown_from_its_start_on(workspace: Workspace) -> None:
    replays = Replays(workspace)
    assert (replays.rows(), replays.row(RUN), replays.detail(RUN)) == ([], None, None)
    launched(workspace, runs=True)
    (row,) = replays.rows()
    assert (row.run_id, row.state, row.sources[0].name) == (RUN, "starting", "lake.playback.starts")
    detail = replays.detail(RUN)
    assert detail is not None
    assert (detail.can_cancel, detail.asked) == (True, ASKED)


def test_why_it_has_ended_is_said(workspace: Workspace) -> None:
    launched(workspace)
    row = Replays(workspace).row(RUN)
    assert row is not None
    assert (row.state, row.problem) == ("failed", "its process has ended")
    error = {"message": "no such table", "advice": "make it", "exit_code": 1}
    said(workspace, "noise\n" + json.dumps({"error": error}))
    row, detail = Replays(workspace).row(RUN), Replays(workspace).detail(RUN)
    assert row is not None
    assert detail is not None
    assert (row.state, row.problem, detail.advice) == ("failed", "no such table", "make it")


def test_a_cancelled_replay_keeps_its_page(workspace: Workspace) -> None:
    LaunchFolder(workspace, RUN).keep(
        replace(launched(workspace), cancelled="2026-03-01T12:00:01Z")
    )
    row, detail = Replays(workspace).row(RUN), Replays(workspace).detail(RUN)
    assert row is not None
    assert detail is not None
    assert (row.state, detail.can_cancel) == ("cancelled", False)
    found = ReplayActs(workspace).cancel(RUN, delete_output=False)
    assert found == {"run_id": RUN, "state": "cancelled"}


def test_a_replay_that_has_not_begun_yet_is_ended(workspace: Workspace) -> None:
    code = "import sys; print('on', flush=True); sys.stdin.read()"
    with subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"on\n"
        started_s = psutil.Process(process.pid).create_time()
        launch = replace(launched(workspace), pid=process.pid, started_s=started_s)
        LaunchFolder(workspace, RUN).keep(launch)
        found = ReplayActs(workspace).cancel(RUN, delete_output=True)
        assert found == {"run_id": RUN, "state": "cancelled"}
        assert process.wait(LIMIT_S) == -signal.SIGTERM
    row = Replays(workspace).row(RUN)
    assert row is not None
    assert row.state == "cancelled"


@pytest.mark.parametrize("name", ["none", "../state", "", "a/b", ".", ".."])
def test_a_name_is_never_a_path(workspace: Workspace, name: str) -> None:
    launched(workspace)
    acts = ReplayActs(workspace)
    assert launch_of(workspace, name) is None
    assert acts.cancel(name, delete_output=True) is None
    assert acts.publish(name) is None
    assert acts.compare(name, {"key": "a"}) is None


def test_a_process_with_the_number_of_another_is_not_taken_for_it(workspace: Workspace) -> None:
    launch = launched(workspace, runs=True)
    assert launch.process is not None
    assert replace(launch, started_s=launch.started_s - 5).process is None


def test_the_same_name_is_started_once(workspace: Workspace) -> None:
    launched(workspace)
    asked = {**ASKED, "to": "jsonl:out"}
    assert ReplayActs(workspace).start(asked, RUN, None) == RUN
    assert not (workspace.root / "out").exists()
    assert LaunchFolder(workspace, RUN).launch() == launched(workspace)
    with pytest.raises(RequestRefused, match="run_id"):
        ReplayActs(workspace).start(asked, "../elsewhere", None)


def test_so_many_run_at_a_time(workspace: Workspace) -> None:
    for number in range(MOST_AT_WORK):
        make_room(workspace)
        launched(workspace, f"{RUN}-{number}", runs=True)
    with pytest.raises(Transient, match="are at work"):
        make_room(workspace)
    assert len(launches(workspace)) == MOST_AT_WORK


def test_the_oldest_that_have_ended_are_forgotten(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fleet.launches.KEPT", 2)
    for number in range(4):
        launch = launched(workspace, f"{RUN}-{number}", runs=number == 0)
        later = replace(launch, begun=f"2026-03-01T12:00:0{number}.000000Z")
        LaunchFolder(workspace, launch.run_id).keep(later)
    make_room(workspace)
    # The oldest one is still at work.
    assert [one.run_id for one in launches(workspace)] == [f"{RUN}-{n}" for n in (3, 2, 0)]


def test_a_replay_is_a_process_that_is_waited_for_by_nobody(workspace: Workspace) -> None:
    """Its words name no table that is there: it ends, and its page says why."""
    run_id = ReplayActs(workspace).start({**ASKED, "to": "jsonl:out"}, None, {"steps": 1})
    launch = launch_of(workspace, run_id)
    assert launch is not None
    assert (launch.plan, launch.asked["tables"]) == ({"steps": 1}, ASKED["tables"])

    def state() -> str | None:
        row = Replays(workspace).row(run_id)
        return None if row is None else row.state

    assert wait_until(lambda: state() == "failed", LIMIT_S)
    row = Replays(workspace).row(run_id)
    assert row is not None
    assert "there is no table lake.playback.starts" in (row.problem or "")


def test_the_answer_of_a_command_is_its_json_or_its_error(workspace: Workspace) -> None:
    root = workspace.root
    assert answer_of(["ls", "-o", "json"], root, LIMIT_S)["declared"]
    with pytest.raises(Terminal, match=r"there is no table lake\.playback\.starts"):
        answer_of(
            [
                *("backfill", "plan", "-o", "json", "--table=lake.playback.starts"),
                *("--start-ts=2026-03-01", "--end-ts=2026-03-02"),
            ],
            root,
            LIMIT_S,
        )
    with pytest.raises(UsageError):
        answer_of(["backfill", "plan", "-o", "json"], root, LIMIT_S)
    with pytest.raises(Transient, match="has not ended within"):
        answer_of(["ls", "-o", "json"], root, 0)


def test_a_command_that_is_not_tied_is_its_own_session(
    workspace: Workspace, tmp_path: Path
) -> None:
    with (tmp_path / "said").open("w+b") as out:
        process = start(["--version"], workspace.root, out, out, is_tied=False)
        assert os.getsid(process.pid) == process.pid
        assert process.wait(LIMIT_S) == 0
        assert process.args[0] == sys.executable  # type: ignore[index]  # it is a list
