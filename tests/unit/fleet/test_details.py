"""What the control room tells of a file: its way, its settings, and what it makes of a record."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from fleet.details import MOST_RECORDS, declared_in, effective_of, explained, setting_rows
from headrace.config.kind_files import check_file
from headrace.config.load import known_names, load_workspace
from headrace.errors import UsageError
from tests.unit.fleet import files

if TYPE_CHECKING:
    from pathlib import Path

    from headrace.config.kind_files import CheckedFile
    from headrace.config.stream.effective import Effective
    from headrace.config.workspace.workspace import Workspace


def checked(root: Path, path: str) -> CheckedFile:
    workspace = load_workspace(root)
    return check_file(root / path, known_names(workspace))


def plays(root: Path) -> tuple[Effective, Workspace]:
    workspace = load_workspace(files.write(root))
    return effective_of(checked(root, "streams/plays.yaml"), workspace, None), workspace


def test_the_way_of_each_kind_of_file(tmp_path: Path) -> None:
    root = files.write(tmp_path)
    stream = declared_in(checked(root, "streams/plays.yaml"))
    assert (stream.kind, stream.name) == ("stream", "plays")
    assert stream.sources == ["kafka:here/plays_raw"]
    assert dict(zip(stream.outputs, stream.targets, strict=True)) == {
        "starts": "kafka:here/plays_starts",
        "lake": "iceberg:lake.tv.plays",
    }
    assert stream.quarantine == "kafka:here/plays_raw.quarantine"
    table = declared_in(checked(root, "tables/plays.yaml"))
    assert (table.sources, table.targets) == (
        ["kafka:here/plays_starts"],
        ["iceberg:lake.tv.starts"],
    )
    app = declared_in(checked(root, "apps/counts.yaml"))
    assert (app.kind, app.sources, app.quarantine) == ("app", ["kafka:here/plays_starts"], None)


def test_a_broken_file_is_named_with_its_first_mistake(tmp_path: Path) -> None:
    root = files.write(tmp_path, **{"streams/plays.yaml": files.stream("plays") + "outputz: 1\n"})
    broken = declared_in(checked(root, "streams/plays.yaml"))
    assert (broken.kind, broken.name) == ("stream", "plays")
    assert "outputz" in (broken.problem or "")


def test_settings_say_where_they_come_from(tmp_path: Path) -> None:
    found = {one.key: one for one in setting_rows(*plays(tmp_path))}
    assert found["source.topic"].value == "plays_raw"
    assert found["source.topic"].origin.endswith("streams/plays.yaml:3")
    assert found["source.starting_offsets"].origin == "default"


def test_a_record_is_explained_output_by_output(tmp_path: Path) -> None:
    lines = '{"id": 1, "kind": "start"}\n{"id": 2, "kind": "stop"}\nno json'
    found: dict[str, Any] = explained(*plays(tmp_path), lines)
    start, stop, bad = found["records"]
    assert start["outputs"]["starts"]["outcome"] == "written"
    assert start["outputs"]["starts"]["value"] == {"id": 1, "kind": "start"}
    assert stop["outputs"]["starts"]["outcome"] == "filtered"
    assert bad["bad"]["becomes"] == "quarantine"


def test_so_many_records_are_explained_and_no_more(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="21 records"):
        explained(*plays(tmp_path), "{}\n" * (MOST_RECORDS + 1))
