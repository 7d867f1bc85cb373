"""A JVM on its way up: who waits is told how it went, and one that nobody needs ends."""

from __future__ import annotations

import os
import signal
import threading
from pathlib import Path

import pytest

from headrace.embedded.process import wait_until
from headrace.jvm.class_archive import KEPT_AS, TRIED, give_back
from headrace.jvm.launch import InBackground, LaunchedJvm
from tests.limits import LIMIT_S

# What stands for Spark's script: it tells how it was called, and then does what the test says.
SCRIPT = """\
#!/bin/sh
echo "$@" >&2
echo "$_PYSPARK_DRIVER_CONN_INFO_PATH" >&2
{rest}
"""


def launched(home: Path, rest: str, monkeypatch: pytest.MonkeyPatch) -> LaunchedJvm:
    (home / "bin").mkdir()
    script = home / "bin" / "spark-submit"
    script.write_text(SCRIPT.format(rest=rest), encoding="utf-8")
    script.chmod(0o755)
    monkeypatch.setenv("SPARK_HOME", str(home))
    monkeypatch.delenv("PYSPARK_SUBMIT_ARGS", raising=False)
    with (home / "log").open("wb") as log:
        return LaunchedJvm({"spark.master": "local", "spark.driver.x": "a b"}, log)


def test_one_that_ends_is_told_of(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    jvm = launched(tmp_path, "exit 1", monkeypatch)
    with pytest.raises(ChildProcessError, match="exited"):
        jvm.gateway()
    jvm.end()
    told, place = (tmp_path / "log").read_text(encoding="utf-8").splitlines()
    assert told == "--conf spark.master=local --conf spark.driver.x=a b pyspark-shell"
    assert not Path(place).parent.exists()


def test_one_that_nobody_needs_ends_and_ctrl_c_is_not_for_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    jvm = launched(tmp_path, "exec cat", monkeypatch)
    # It has started when it has said something.
    assert wait_until(lambda: b"connection" in (tmp_path / "log").read_bytes(), LIMIT_S)
    os.kill(jvm.process.pid, signal.SIGINT)
    assert jvm.process.poll() is None
    jvm.end()
    assert jvm.process.returncode == -signal.SIGTERM


def test_what_a_start_raises_is_raised_where_it_is_waited_for() -> None:
    begun = threading.Event()
    assert InBackground(lambda: begun.wait(60)) is not None

    def fail() -> int:
        raise ValueError("no")

    failing = InBackground(fail)
    with pytest.raises(ValueError, match="no"):
        failing.result()
    begun.set()


def test_an_archive_that_was_not_made_is_tried_again(tmp_path: Path) -> None:
    path = tmp_path / "abc"
    tried = tmp_path / f"abc{TRIED}"
    tried.touch()
    give_back("-Dother=1")
    assert tried.exists()
    give_back(f'-Dother=1 -XX:+RecordDynamicDumpInfo "-D{KEPT_AS}={path}"')
    assert not tried.exists()
