"""What `headrace ls` lists."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from fleet.declared import as_dict, as_text, declaration
from tests.unit.fleet.files import HEADRACE, stream, write

if TYPE_CHECKING:
    import pytest

BIN = Path(sys.executable).parent


def test_each_file_has_a_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(write(tmp_path))
    found = declaration(tmp_path)
    assert [(one.kind, one.name, one.sources, one.targets) for one in found.files] == [
        ("app", "counts", ("kafka:here/plays_starts",), ("jsonl:out",)),
        (
            "stream",
            "pauses",
            ("kafka:here/pauses_raw",),
            ("kafka:here/pauses_starts", "iceberg:lake.tv.pauses"),
        ),
        (
            "stream",
            "plays",
            ("kafka:here/plays_raw",),
            ("kafka:here/plays_starts", "iceberg:lake.tv.plays"),
        ),
        ("lake_table", "plays_table", ("kafka:here/plays_starts",), ("iceberg:lake.tv.starts",)),
    ]
    lines = as_text(found).splitlines()
    assert lines[0].split() == ["KIND", "NAME", "FILE", "READS", "WRITES"]
    assert lines[4].split()[:4] == ["lake", "table", "plays_table", "tables/plays.yaml"]


def test_a_broken_file_is_named_and_hides_no_other(tmp_path: Path) -> None:
    broken = stream("plays").replace("kind = 'start'", "kimd = 'start'")
    found = declaration(write(tmp_path, **{"streams/plays.yaml": broken}))
    assert [one.name for one in found.files if one.problems] == ["plays"]
    assert "plays.yaml:6:14: unknown column" in as_text(found)
    (facts,) = [one for one in as_dict(found)["declared"] if not one["ok"]]
    assert (facts["name"], facts["problems"][0]["line"]) == ("plays", 6)


def test_two_files_with_one_name_are_broken_but_for_the_first(tmp_path: Path) -> None:
    found = declaration(write(tmp_path, **{"streams/second.yaml": stream("plays")}))
    assert [one.path.name for one in found.files if one.problems] == ["second.yaml"]


def test_mistakes_of_headrace_yaml_are_listed_with_the_files(tmp_path: Path) -> None:
    found = declaration(write(tmp_path, **{"headrace.yaml": HEADRACE + "clutter: 1\n"}))
    assert len(found.problems) == 1
    assert "headrace.yaml:5:1" in as_text(found)
    assert len(found.files) == 4


def test_an_empty_workspace_says_what_to_add(tmp_path: Path) -> None:
    (tmp_path / "headrace.yaml").write_text(HEADRACE)
    assert "kind: stream" in as_text(declaration(tmp_path))


def test_the_command_needs_no_jvm_and_no_cluster(tmp_path: Path) -> None:
    write(tmp_path)
    line = [str(BIN / "headrace"), "ls", "-o", "json"]
    done = subprocess.run(
        line, cwd=tmp_path, capture_output=True, text=True, check=True, env={"PATH": ""}
    )
    assert len(json.loads(done.stdout)["declared"]) == 4
