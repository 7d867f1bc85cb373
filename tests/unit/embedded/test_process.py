"""Processes that are known again, and stopped whatever state they are in."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from typing import TYPE_CHECKING

import psutil
import pytest

from headrace.embedded.process import Mark, read_mark, start_tethered, stop_child, wait_until
from tests.limits import LIMIT_S

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

SLEEP = "import time; print('up', flush=True); time.sleep(300)"
DEAF = "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); "
SLEEPER = [sys.executable, "-c", SLEEP]
STUBBORN = [sys.executable, "-c", DEAF + SLEEP]
PARENT = """\
import sys, time
from pathlib import Path
from headrace.embedded.process import start_tethered
child, mark = start_tethered(sys.argv[2:], Path(sys.argv[1]), {})
print(child.pid, flush=True)
time.sleep(300)
"""


@pytest.fixture
def started(tmp_path: Path) -> Iterator[tuple[subprocess.Popen[bytes], Mark]]:
    child, mark = start_up(SLEEPER, tmp_path / "out")
    yield child, mark
    child.kill()
    child.wait(LIMIT_S)


def start_up(command: list[str], output: Path) -> tuple[subprocess.Popen[bytes], Mark]:
    child, mark = start_tethered(command, output, {})
    assert wait_until(lambda: output.read_text() == "up\n", LIMIT_S)
    return child, mark


def test_a_mark_knows_its_process_again(
    started: tuple[subprocess.Popen[bytes], Mark], tmp_path: Path
) -> None:
    child, mark = started
    file = tmp_path / "process.json"
    mark.write(file, ports=(1, 2))
    read = read_mark(file)
    assert read is not None
    assert read[0] == mark
    assert read[1]["ports"] == [1, 2]
    assert mark.alive
    # The clock was corrected by a second since; still the same process.
    assert Mark(child.pid, mark.started_s + 1).alive
    # Another process that got the same id later.
    assert not Mark(child.pid, mark.started_s - 60).alive
    child.kill()
    child.wait(LIMIT_S)
    assert not mark.alive
    mark.stop(0.1)


def test_one_that_was_frozen_is_stopped_without_waiting(
    started: tuple[subprocess.Popen[bytes], Mark],
) -> None:
    child, mark = started
    child.send_signal(signal.SIGSTOP)
    frozen = psutil.Process(child.pid)
    assert wait_until(lambda: frozen.status() == psutil.STATUS_STOPPED, LIMIT_S)
    mark.stop(3600)
    assert not mark.alive


def test_one_that_does_not_listen_is_ended(tmp_path: Path) -> None:
    child, mark = start_up(STUBBORN, tmp_path / "one")
    mark.stop(0.1)
    assert not mark.alive
    child.wait(LIMIT_S)
    child, _ = start_up(STUBBORN, tmp_path / "two")
    stop_child(child, 0.1)
    assert child.returncode == -signal.SIGKILL


def test_a_child_is_stopped_in_order(started: tuple[subprocess.Popen[bytes], Mark]) -> None:
    child, _ = started
    stop_child(child, LIMIT_S)
    assert child.returncode == -signal.SIGTERM
    stop_child(child, LIMIT_S)


@pytest.mark.skipif(sys.platform != "linux", reason="the kernel's tie is Linux's own")
def test_a_child_does_not_outlive_a_parent_that_was_killed(tmp_path: Path) -> None:
    output = tmp_path / "out"
    command = [sys.executable, "-c", PARENT, str(output), *SLEEPER]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        child = psutil.Process(int(parent.stdout.readline()))
        assert wait_until(lambda: output.exists() and output.read_text() == "up\n", LIMIT_S)
        parent.kill()
        parent.wait(LIMIT_S)
    assert wait_until(lambda: not child.is_running() or child.status() == "zombie", LIMIT_S)


def test_a_child_has_a_session_of_its_own(
    started: tuple[subprocess.Popen[bytes], Mark],
) -> None:
    """Ctrl-C in a terminal goes to the whole foreground group, and must not reach it."""
    assert os.getsid(started[0].pid) == started[0].pid != os.getsid(0)


@pytest.mark.parametrize("text", ["", "{", "[]", "7", '{"pid": 1}', '{"pid": "x", "started_s": 1}'])
def test_a_mark_that_is_not_whole_is_none(tmp_path: Path, text: str) -> None:
    file = tmp_path / "process.json"
    file.write_text(text)
    assert read_mark(file) is None
    file.unlink()
    assert read_mark(file) is None


def test_a_mark_is_one_line_of_json(tmp_path: Path) -> None:
    file = tmp_path / "process.json"
    Mark(1, 2.5).write(file, ports=(3,))
    assert json.loads(file.read_text()) == {"pid": 1, "started_s": 2.5, "ports": [3]}
    assert [path.name for path in tmp_path.iterdir()] == ["process.json"]


def test_waiting_says_whether_it_came() -> None:
    answers = iter([False, True])
    assert wait_until(lambda: next(answers), LIMIT_S)
    assert not wait_until(lambda: False, 0.0)
