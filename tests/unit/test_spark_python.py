from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from headrace.spark_python import VARIABLE, without_archives

if TYPE_CHECKING:
    from pathlib import Path

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
    launcher = tmp_path / "with a space"
    for _ in range(2):
        with without_archives("local[2]", launcher):
            assert os.environ[VARIABLE] == str(launcher)
        assert os.environ[VARIABLE] == sys.executable
        assert path_behind(launcher) == str(path)
    assert [one.name for one in tmp_path.iterdir()] == [launcher.name]


def test_a_launcher_of_another_python_is_written_anew(tmp_path: Path) -> None:
    launcher = tmp_path / "python"
    launcher.write_text("#!/bin/sh\nexec /of/another/environment/python\n")
    with without_archives("local[*]", launcher):
        assert path_behind(launcher) == str(os.environ.get("PYTHONPATH"))


@pytest.mark.parametrize(("master", "python"), [("spark://one:7077", ""), ("local[2]", "/my/own")])
def test_a_cluster_and_a_python_of_users_are_left_alone(
    master: str, python: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = python or sys.executable
    monkeypatch.setenv(VARIABLE, expected)
    with without_archives(master, tmp_path / "python"):
        assert os.environ[VARIABLE] == expected
    assert list(tmp_path.iterdir()) == []


def test_where_nothing_may_be_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "access", lambda *_: False)
    with without_archives("local[2]", tmp_path / "python"):
        assert os.environ[VARIABLE] == sys.executable
