from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from headrace.locks import FIRST_HIGH, AlreadyRunning, describe, hold, holder

if TYPE_CHECKING:
    from pathlib import Path

HOLDER = """\
import sys
from pathlib import Path
from headrace.locks import describe, hold
with hold(Path(sys.argv[1]), "it", "wait") as held:
    describe(held, "pid 1, far away")
    print("held", flush=True)
    sys.stdin.read()
"""


def test_the_second_is_told_who_holds(tmp_path: Path) -> None:
    lock = tmp_path / "new" / "lock"
    with hold(lock, "the stream", "stop that one first") as held:
        with (
            pytest.raises(
                AlreadyRunning, match=rf"the stream already runs \(pid {os.getpid()}\)"
            ) as told,
            hold(lock, "the stream", "stop that one first"),
        ):
            pass
        assert told.value.advice == "stop that one first"
        describe(held, "x")
        with pytest.raises(AlreadyRunning, match=r"\(x\)"), hold(lock, "it", ""):
            pass
    with hold(lock, "it", ""):
        assert lock.read_text() == f"pid {os.getpid()}"


def test_a_holder_that_was_killed_holds_nothing(tmp_path: Path) -> None:
    lock = tmp_path / "lock"
    command = [sys.executable, "-c", HOLDER, str(lock)]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "held\n"
        with pytest.raises(AlreadyRunning, match="pid 1, far away"), hold(lock, "it", ""):
            pass
        other.send_signal(signal.SIGKILL)
        other.wait(30)
    with hold(lock, "it", ""):
        pass


def test_who_holds_a_lock_is_known_without_asking_for_it(tmp_path: Path) -> None:
    lock = tmp_path / "lock"
    assert holder(lock) is None
    with hold(lock, "it", ""):
        assert holder(lock) == os.getpid()
    assert holder(lock) is None
    # Killed, it could not take its name out of the file.
    with subprocess.Popen([sys.executable, "-c", ""]) as gone:
        gone.wait(30)
    lock.write_text(f"pid {gone.pid}")
    assert holder(lock) is None


def test_what_is_held_leaves_the_low_numbers_of_files_to_others(tmp_path: Path) -> None:
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (limits[1], limits[1]))
        with hold(tmp_path / "lock", "it", "wait") as held:
            assert held.fileno() >= FIRST_HIGH
        # Where the system has none, a low one serves as well.
        resource.setrlimit(resource.RLIMIT_NOFILE, (FIRST_HIGH, limits[1]))
        with hold(tmp_path / "lock", "it", "wait") as held:
            assert held.fileno() < FIRST_HIGH
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)
