"""A run is stopped by asking the process that has it; whatever else has the lock is let be."""

from __future__ import annotations

import subprocess
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

from backfill.results.stopping import process_of, stop
from backfill.run.request import state_of
from headrace.config.load import load_workspace
from headrace.errors import Transient
from headrace.locks import hold, is_held
from tests.limits import LIMIT_S
from tests.unit.config.workspaces import SOUND, Files

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from headrace.config.workspace.workspace import Workspace

RUNS = """\
import signal, sys
from pathlib import Path
from headrace.locks import hold
if sys.argv[3] == "deaf":
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
with hold(Path(sys.argv[2]), "it", "wait"):
    print("held", flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    made = Files(tmp_path)
    for name, text in SOUND.items():
        made.write(name, text)
    return load_workspace(tmp_path)


@contextmanager
def running(lock: Path, word: str, manner: str = "") -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen(
        [sys.executable, "-c", RUNS, word, str(lock), manner],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    with process:
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        yield process
        process.kill()


def test_the_process_of_a_run_is_asked_to_end_and_waited_for(workspace: Workspace) -> None:
    lock = state_of(workspace, "again").lock
    with running(lock, "replay") as process:
        found = process_of(lock)
        assert (None if found is None else found.pid) == process.pid
        stop(workspace, "again", LIMIT_S)
        assert not is_held(lock)
    stop(workspace, "again", 0)


def test_what_only_looks_at_a_run_is_not_ended(workspace: Workspace) -> None:
    lock = state_of(workspace, "again").lock
    with running(lock, "status") as process:
        assert process_of(lock) is None
        stop(workspace, "again", 0)
        assert process.poll() is None
        assert is_held(lock)


def test_a_step_that_takes_long_is_said(workspace: Workspace) -> None:
    lock = state_of(workspace, "again").lock
    with (
        running(lock, "replay", "deaf"),
        pytest.raises(Transient, match="again still works on its current step"),
    ):
        stop(workspace, "again", 0.2)


def test_whether_a_lock_is_held_is_asked_without_a_trace(workspace: Workspace) -> None:
    lock = state_of(workspace, "again").lock
    assert not is_held(lock)
    with hold(lock, "it", ""):
        before = lock.read_text()
        assert is_held(lock)
        assert lock.read_text() == before
    assert not is_held(lock)
    assert lock.read_text() == ""
