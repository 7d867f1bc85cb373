"""Functions that an application names: found in the files beside it, nothing imported."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from headrace.config.validate import check_workspace
from tests.unit.config.workspaces import APP, SOUND, Files

if TYPE_CHECKING:
    from pathlib import Path

SQL = 'transform: {{sql: "SELECT * FROM impressions", udfs: [{udfs}]}}'


def problems(root: Path, transform: str, module: str) -> list[str]:
    files = Files(root)
    for name, text in SOUND.items():
        files.write(name, text)
    line = next(line for line in APP.splitlines() if line.startswith("transform:"))
    files.write("apps/rmi.yaml", APP.replace(line, transform))
    files.write("apps/rmi.py", module)
    return [str(one) for one in check_workspace(root).problems]


@pytest.mark.parametrize(
    ("transform", "module", "sentence"),
    [
        ('transform: {python: "rmi:build"}', "def biuld(s): ...", 'did you mean "biuld"?'),
        ('transform: {python: "rmi:build"}', "def build(:", "rmi.py, line 1 is not valid Python"),
        (SQL.format(udfs='"rmi:one", "rmi:two"'), "def one(): ...", "no function for "),
        (
            'transform: {python: "rmi:build", udfs: ["rmi:build"]}',
            "def build(s): ...",
            "for a query",
        ),
    ],
)
def test_what_is_wrong_is_told(tmp_path: Path, transform: str, module: str, sentence: str) -> None:
    (problem,) = problems(tmp_path, transform, module)
    assert sentence in problem


@pytest.mark.parametrize(
    "module",
    [
        "def build(s): ...",
        "build = lambda s: s",
        "from elsewhere import build",
        "from elsewhere import *",
        "raise RuntimeError('imported')\ndef build(s): ...",
    ],
)
def test_whatever_gives_a_module_the_name_will_do(tmp_path: Path, module: str) -> None:
    assert problems(tmp_path, 'transform: {python: "rmi:build"}', module) == []


def test_a_module_that_is_no_file_here_may_be_installed(tmp_path: Path) -> None:
    assert problems(tmp_path, 'transform: {python: "package.module:build"}', "") == []
