from __future__ import annotations

import sys
import threading
import time
from dataclasses import replace
from typing import TYPE_CHECKING

import psutil
import pytest

from benchmarks.measure import Command, CommandFailed, measure
from tests.limits import LIMIT_S

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="counts by Linux's means")

MIB = 2**20
BURN_S = 0.4
# Much more than an interpreter takes to start.
SERVED_S = 2.0
# An ended process that nobody waited for is known by the last look at it.
TICK_S = 0.02

BURN = f"""
import os, signal, subprocess, sys, time

def burn():
    while time.process_time() < {BURN_S}:
        sum(range(1000))
    sys.stdout.write(f"{{time.process_time()}}\\n")
    sys.stdout.flush()
"""
GRANDCHILD = [sys.executable, "-c", BURN + "burn()"]


def command(folder: Path, code: str) -> Command:
    return Command([sys.executable, "-c", BURN + code], folder)


def reported(stdout: str) -> float:
    return sum(float(line) for line in stdout.split())


def test_a_child_and_its_ended_grandchild_both_count(tmp_path: Path) -> None:
    code = f"subprocess.run({GRANDCHILD!r}, check=True)\nburn()"
    found = measure(command(tmp_path, code), LIMIT_S)
    assert len(found.stdout.split()) == 2
    assert found.cpu_s >= reported(found.stdout) >= 2 * BURN_S
    assert found.wall_s > 0


def test_a_grandchild_that_outlives_the_command_counts(tmp_path: Path) -> None:
    code = f"subprocess.Popen({GRANDCHILD!r}, start_new_session=True)\nos._exit(0)"
    found = measure(command(tmp_path, code), LIMIT_S)
    assert found.cpu_s >= reported(found.stdout) >= BURN_S


def test_children_whose_parent_ignores_their_end_count(tmp_path: Path) -> None:
    # As PySpark's daemon does with its Python workers: the kernel adds their time to nobody's.
    code = """
who_measures = os.getppid()

def looks():
    # It sleeps after each look, of its own accord.
    status = open(f"/proc/{who_measures}/status").read()
    return int(status.partition("voluntary_ctxt_switches:")[2].split()[0])

signal.signal(signal.SIGCHLD, signal.SIG_IGN)
if os.fork() == 0:
    burn()
    # One look may be under way; the next one sees all of it.
    enough = looks() + 2
    while looks() < enough:
        time.sleep(0.01)
    os._exit(0)
while True:
    try:
        os.waitpid(-1, 0)
    except ChildProcessError:
        break
"""
    found = measure(command(tmp_path, code), LIMIT_S)
    assert found.unwaited_cpu_s >= reported(found.stdout) - TICK_S
    assert found.cpu_s >= reported(found.stdout) >= BURN_S


def test_what_waits_costs_no_cpu(tmp_path: Path) -> None:
    found = measure(command(tmp_path, "time.sleep(1.0)"), LIMIT_S)
    assert found.wall_s >= 1.0
    assert found.cpu_s < found.wall_s
    assert found.unwaited_cpu_s == 0


def test_a_command_that_fails_is_told_with_its_last_words(tmp_path: Path) -> None:
    with pytest.raises(CommandFailed, match=r"ended with 3: no such luck"):
        measure(command(tmp_path, "sys.stderr.write('no such luck')\nsys.exit(3)"), LIMIT_S)


def test_a_command_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(CommandFailed, match=r"could not be run: .*No such file"):
        measure(Command(["no-such-command"], tmp_path), LIMIT_S)


def test_a_command_out_of_time_is_ended_with_all_that_came_of_it(tmp_path: Path) -> None:
    sleeper = [sys.executable, "-c", "import time; time.sleep(600)"]
    code = f"""
left = subprocess.Popen({sleeper!r}, start_new_session=True)
open("pids", "w").write(f"{{os.getpid()}} {{left.pid}}")
time.sleep(600)
"""
    with pytest.raises(CommandFailed, match="did not end within 2 s"):
        measure(command(tmp_path, code), limit_s=2.0)
    pids = (tmp_path / "pids").read_text(encoding="utf-8").split()
    assert len(pids) == 2
    assert not any(psutil.pid_exists(int(pid)) for pid in pids)


def test_a_server_beside_it_is_counted_apart(tmp_path: Path) -> None:
    # The command ends when the server has worked for it, whatever the clock says.
    code = "while not os.path.exists('served'): time.sleep(0.01)"
    ended = threading.Event()

    def serve() -> None:
        while not ended.is_set():
            sum(range(1000))
            if time.thread_time() >= SERVED_S:
                (tmp_path / "served").touch()
                return

    server = threading.Thread(target=serve)
    server.start()
    try:
        found = measure(command(tmp_path, code), LIMIT_S, [psutil.Process().pid])
    finally:
        ended.set()
        server.join()
    assert found.watched_cpu_s > found.cpu_s
    assert time.process_time() >= found.watched_cpu_s


def test_a_command_without_end_is_ended_when_its_output_is_there(tmp_path: Path) -> None:
    file = tmp_path / "progress"
    code = f"""
time.sleep(0.3)
print("first", file=open({str(file)!r}, "a"))
burn()
time.sleep(0.7)
print("all", file=open({str(file)!r}, "a"))
time.sleep(600)
"""
    endless = replace(command(tmp_path, code), progress=file, endless=True)
    found = measure(endless, LIMIT_S)
    assert found.at_work is not None
    assert found.wall_s > found.at_work.wall_s > 0.5
    # Some of it may be done before the first look.
    assert found.cpu_s >= found.at_work.cpu_s > 0


def test_an_endless_command_that_ends_before_its_output_is_there_has_failed(tmp_path: Path) -> None:
    endless = replace(command(tmp_path, ""), progress=tmp_path / "progress", endless=True)
    with pytest.raises(CommandFailed, match="ended before all of its output was there"):
        measure(endless, LIMIT_S)


def test_a_command_that_is_gone_before_its_last_record_was_seen_has_worked_until_then(
    tmp_path: Path,
) -> None:
    file = tmp_path / "progress"
    code = f"print('first', file=open({str(file)!r}, 'a'))\ntime.sleep(1.0)"
    found = measure(replace(command(tmp_path, code), progress=file), LIMIT_S)
    assert found.at_work is not None
    assert found.wall_s >= found.at_work.wall_s > 0.6


def test_the_memory_of_all_processes_is_seen_together(tmp_path: Path) -> None:
    hold = f"import time; held = b'x' * {64 * MIB}; time.sleep(1)"
    child = [sys.executable, "-c", hold]
    found = measure(command(tmp_path, f"child = subprocess.Popen({child!r})\n{hold}"), LIMIT_S)
    assert found.peak_rss_bytes > 2 * 64 * MIB


def test_what_was_used_before_the_command_was_warm_does_not_count(tmp_path: Path) -> None:
    file = tmp_path / "warm"
    # The command waits for a look after its work, and for another after it was warm.
    code = f"burn()\ntime.sleep(0.5)\nprint('warm', file=open({str(file)!r}, 'a'))\ntime.sleep(1.0)"
    found = measure(replace(command(tmp_path, code), warm=(file, 1)), LIMIT_S)
    assert found.cpu_s < BURN_S


def test_a_command_that_was_never_warm_has_failed(tmp_path: Path) -> None:
    never = replace(command(tmp_path, ""), warm=(tmp_path / "warm", 1))
    with pytest.raises(CommandFailed, match="ended before it was warm"):
        measure(never, LIMIT_S)
