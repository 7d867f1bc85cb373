from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from headrace.jvm.python_launcher import VARIABLE, without_archives

PATH = "import os; print(os.environ.get('PYTHONPATH'))"


@pytest.fixture(autouse=True)
def _ours(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, sys.executable)


def path_behind(launcher: Path) -> str:
    """Return the path that Python has behind the launcher, where Spark has put an archive on it."""
    environment = os.environ | {"PYTHONPATH": "/spark/python/lib/pyspark.zip"}
    command = [str(launcher), "-c", PATH]
    return subprocess.check_output(command, env=environment, text=True).strip()


@pytest.mark.parametrize("path", [None, "/one:/of my 'own"])
def test_the_path_is_the_one_of_users(
    path: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if path is None:
        monkeypatch.delenv("PYTHONPATH", raising=False)
    else:
        monkeypatch.setenv("PYTHONPATH", path)
    folder = tmp_path / "with a space"
    folder.mkdir()
    for _ in range(2):
        with without_archives(folder):
            launcher = Path(os.environ[VARIABLE])
        assert os.environ[VARIABLE] == sys.executable
        assert path_behind(launcher) == str(path)
    assert list(folder.iterdir()) == [launcher]


def test_two_that_run_at_once_have_a_launcher_each(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    launchers = []
    for path in ("/one", "/other"):
        monkeypatch.setenv("PYTHONPATH", path)
        with without_archives(tmp_path):
            launchers.append(Path(os.environ[VARIABLE]))
    assert [path_behind(one) for one in launchers] == ["/one", "/other"]


def test_a_damaged_launcher_is_written_anew(tmp_path: Path) -> None:
    for _ in range(2):
        with without_archives(tmp_path):
            launcher = Path(os.environ[VARIABLE])
        assert path_behind(launcher) == str(os.environ.get("PYTHONPATH"))
        launcher.write_bytes(b"\xff\xfe")


def test_a_path_that_is_no_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", os.fsdecode(b"/\xff"))
    with without_archives(tmp_path):
        launcher = Path(os.environ[VARIABLE])
    assert b"PYTHONPATH='/\xff'" in launcher.read_bytes()


def test_a_python_of_users_is_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "/my/own")
    with without_archives(tmp_path):
        assert os.environ[VARIABLE] == "/my/own"
    assert list(tmp_path.iterdir()) == []


def test_where_nothing_may_be_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "access", lambda *_: False)
    with without_archives(tmp_path):
        assert os.environ[VARIABLE] == sys.executable


def test_where_nothing_can_be_written(tmp_path: Path) -> None:
    with without_archives(tmp_path / "missing"):
        assert os.environ[VARIABLE] == sys.executable
