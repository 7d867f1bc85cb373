"""Replays that the control room starts: one at a time, and told after a restart, too."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from typing import TYPE_CHECKING

import msgspec
import psutil
import pytest

from fleet.quarantine_replays import QuarantineReplays, ReplayRuns
from headrace.embedded.process import wait_until
from headrace.locks import hold
from headrace.state_files import write
from router.quarantine.replay_state import ReplayState, lock_in
from router.state import stream_state
from tests.limits import LIMIT_S
from tests.unit.fleet.test_quarantine_edits import origin_in

if TYPE_CHECKING:
    from pathlib import Path

    from fleet.stream_origin import StreamOrigin
    from headrace.http.quarantine_rows import QuarantineReplay

# Starts what lasts in place of a replay, and ends.
PARENT = """
import sys
from pathlib import Path
from fleet import quarantine_replays as replays
from tests.unit.fleet.test_quarantine_edits import origin_in
origin = origin_in(Path(sys.argv[1]))
words = ["ui", "--http", "127.0.0.1:0", "--workspace", str(origin.workspace.root)]
replays._command = lambda _: words
started = replays.QuarantineReplays()
started.start(origin)
print(started._started["plays"].pid)
"""
AT = "2026-03-01T12:00:00Z"
TALLY = {"replayed": 7, "filtered": 1, "dropped": 0, "still_bad": 2, "already": 3}
REPORT = {"outputs": {"starts": {**TALLY, "reasons": [{"reason": "not JSON", "count": 2}]}}}


def folder_of(origin: StreamOrigin) -> Path:
    return stream_state(origin.workspace, "plays").member("quarantine")


def keep(origin: StreamOrigin, state: ReplayState) -> None:
    write(folder_of(origin) / "replay.json", msgspec.json.encode(state))


def told(origin: StreamOrigin) -> QuarantineReplay:
    found = QuarantineReplays().last(origin)
    assert found is not None
    return found


def test_what_the_command_kept_is_told_whoever_started_it(tmp_path: Path) -> None:
    origin = origin_in(tmp_path)
    assert QuarantineReplays().last(origin) is None
    running = ReplayState(os.getpid(), AT, None, 40, 100, REPORT)
    keep(origin, running)
    with hold(lock_in(folder_of(origin)), "a replay", ""):
        found = told(origin)
        assert (found.state, found.read, found.records) == ("running", 40, 100)
        with pytest.raises(ReplayRuns, match="runs already"):
            QuarantineReplays().start(origin)
    # It has not said that it ended, and it does not run.
    found = told(origin)
    assert (found.state, found.problem) == ("stopped", "it was killed before its end")
    keep(origin, ReplayState(1, AT, AT, 100, 100, REPORT))
    found = told(origin)
    assert (found.state, found.problem, found.ended_at) == ("complete", None, AT)
    (starts,) = found.outputs
    assert (starts.replayed, starts.still_rejected, starts.done_before) == (7, 2, 3)
    assert starts.reasons == [("not JSON", 2)]
    keep(origin, ReplayState(1, AT, AT, 50, 100, {**REPORT, "drained": True}))
    assert told(origin).state == "stopped"
    keep(origin, ReplayState(1, AT, AT, 50, 100, REPORT, "the topic is gone", "create it"))
    found = told(origin)
    assert (found.state, found.problem, found.advice) == (
        "failed",
        "the topic is gone",
        "create it",
    )


def test_a_process_that_fails_at_once_says_why_and_a_second_is_not_started_meanwhile(
    tmp_path: Path,
) -> None:
    origin = origin_in(tmp_path)
    origin.path.write_text("kind: stream\nname: plays\n")
    # An older replay, which is not what was asked for now.
    keep(origin, ReplayState(1, AT, AT, 100, 100, REPORT))
    replays = QuarantineReplays()
    assert replays.start(origin).state == "starting"
    with pytest.raises(ReplayRuns):
        replays.start(origin)

    def is_over() -> bool:
        found = replays.last(origin)
        return found is not None and not found.is_under_way

    assert wait_until(is_over, LIMIT_S)
    found = replays.last(origin)
    assert found is not None
    assert (found.state, found.outputs) == ("failed", ())
    assert 'plays.yaml:1:1: missing key "outputs"' in (found.problem or "")


def test_a_replay_ends_with_the_command_that_started_it(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", PARENT, str(tmp_path)], capture_output=True, text=True, check=True
    )
    pid = int(done.stdout)
    try:
        assert wait_until(lambda: not is_alive(pid), LIMIT_S)
    finally:
        if is_alive(pid):
            os.kill(pid, signal.SIGKILL)


def is_alive(pid: int) -> bool:
    try:
        # Whoever inherits orphans here may never ask how they ended.
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False
