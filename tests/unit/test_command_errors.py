"""Errors of the commands: a sentence for a person, and the same facts as JSON for a program."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

import pytest

from headrace.cli.command import run
from headrace.cli.main import headrace
from tests.end_to_end.every_command import Command, every_command

if TYPE_CHECKING:
    from pathlib import Path

REPORTING = [one for one in every_command() if one.option_of_form is not None]


def ended(words: list[str], monkeypatch: pytest.MonkeyPatch) -> int:
    """Run `headrace …` as its console script does, and return the exit code."""
    monkeypatch.setattr(sys, "argv", ["headrace", *words])
    with pytest.raises(SystemExit) as end:
        run(headrace, "headrace")
    assert isinstance(end.value.code, int)
    return end.value.code


@pytest.mark.parametrize("command", REPORTING, ids=lambda one: one.name)
def test_every_command_prints_a_wrong_word_as_json_where_json_is_asked_for(
    command: Command, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    words = [word for word in command.words if word != "headrace"]
    assert command.option_of_form is not None
    code = ended([*words, command.option_of_form, "json", "--no-such"], monkeypatch)
    printed = capsys.readouterr()
    error = json.loads(printed.out)["error"]
    assert (code, error["exit_code"]) == (2, 2)
    assert error["message"].startswith("No such option")
    assert "No such option" in printed.err


def test_mistakes_in_config_files_come_with_file_line_and_column(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "headrace.yaml").write_text("clusters: {}\n")
    monkeypatch.chdir(tmp_path)
    stream = tmp_path / "plays.yaml"
    stream.write_text("kind: stream\nname: plays\nsauce: {}\n")
    code = ended(["router", "show", "-c", str(stream), "-o", "json"], monkeypatch)
    error = json.loads(capsys.readouterr().out)["error"]
    assert (code, error["exit_code"]) == (78, 78)
    (sauce,) = [one for one in error["problems"] if "sauce" in one["message"]]
    assert (sauce["file"], sauce["line"], sauce["column"]) == ("plays.yaml", 3, 1)


def test_an_error_says_what_to_do_and_whether_trying_again_can_help(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    code = ended(["validate", "-o", "json"], monkeypatch)
    printed = capsys.readouterr()
    error = json.loads(printed.out)["error"]
    assert code == error["exit_code"] == 2
    assert error["retry"] is False
    assert error["advice"]
    assert printed.err == f"error: {error['message']}\n  → {error['advice']}\n"


def test_as_text_an_error_leaves_stdout_empty(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert ended(["validate"], monkeypatch) == 2
    assert not capsys.readouterr().out
