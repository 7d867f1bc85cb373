"""What an application was when a run began: its settings as they are then, and its modules."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest

from backfill.run.fingerprint import AppFingerprint, refuse_changed
from headrace.application.functions import load
from headrace.config.load import load_app, load_workspace
from headrace.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

WORKSPACE = """\
clusters: {c: {bootstrap_servers: "127.0.0.1:1"}}
catalogs: {lake: {type: sql, uri: "sqlite:///catalog.db", warehouse: warehouse}}
"""
APP = """\
kind: app
name: again
sources:
  events: {type: dynamic, selected: past, candidates: [past, other]}
  past: {type: iceberg, catalog: lake, database: tv, table: events}
  other: {type: kafka, cluster: c, topics: events, format: json, schema: events.avsc}
transform: {python: "MODULE:build"}
watermarks: {events: {column: at, delay: 10s}}
sink: {type: iceberg, catalog: lake, database: tv, table: "${WHERE:out}"}
"""
SCHEMA = (
    '{"type": "record", "name": "Event", "fields":'
    ' [{"name": "at", "type": {"type": "long", "logicalType": "timestamp-micros"}}]}'
)


@pytest.fixture
def used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, unique: Callable[[str], str]
) -> Callable[[], AppFingerprint]:
    """Return what the application is now, in a process that has built it."""
    module = unique("application")
    (tmp_path / "headrace.yaml").write_text(WORKSPACE)
    (tmp_path / "app.yaml").write_text(APP.replace("MODULE", module))
    (tmp_path / "events.avsc").write_text(SCHEMA)
    (tmp_path / f"{module}.py").write_text(f"from {module}_parts.sums import total\nbuild = total")
    (tmp_path / f"{module}_parts").mkdir()
    (tmp_path / f"{module}_parts" / "sums.py").write_text("def total(sources): ...\n")
    (tmp_path / "unused.py").write_text("")
    monkeypatch.setattr(sys, "path", [*sys.path])

    def now() -> AppFingerprint:
        app = load_app(tmp_path / "app.yaml", load_workspace(tmp_path))
        load(f"{module}:build", (tmp_path,))
        return AppFingerprint.of(app, tmp_path)

    return now


def change(path: Path, old: str, new: str) -> None:
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")


@pytest.mark.parametrize(
    ("old", "new", "changed"),
    [
        ("table: events}", "table: others}", ["sources"]),
        ("delay: 10s", "delay: 20s", ["watermarks"]),
        ("WHERE:out", "WHERE:elsewhere", ["sink"]),
        ("WHERE:out}", "WHERE:out}_new", ["sink"]),
        # What a replay does not go by may change, as the live job's settings do.
        ("topics: events", "topics: others", []),
        ("selected: past", "selected: other", []),
        ("name: again\n", "name: again\n# a word\n", []),
    ],
)
def test_what_has_changed_is_named(
    old: str, new: str, changed: list[str], used: Callable[[], AppFingerprint], tmp_path: Path
) -> None:
    begun = used()
    assert begun.changes(used()) == []
    change(tmp_path / "app.yaml", old, new)
    assert begun.changes(used()) == changed


def test_a_variable_that_is_another_now_is_a_change(
    used: Callable[[], AppFingerprint], monkeypatch: pytest.MonkeyPatch
) -> None:
    begun = used()
    monkeypatch.setenv("WHERE", "elsewhere")
    with pytest.raises(UsageError, match=r"again has changed since run r was started: sink"):
        refuse_changed("r", begun, used())
    monkeypatch.setenv("WHERE", "out")
    refuse_changed("r", begun, used())


def test_modules_are_those_that_the_functions_are_from(
    used: Callable[[], AppFingerprint], tmp_path: Path
) -> None:
    begun = used()
    module, sums = sorted(begun.modules)
    assert sums == f"{module}_parts.sums"
    change(tmp_path / f"{module}_parts" / "sums.py", "...", "return sources")
    assert begun.changes(used()) == [f"{sums}.py"]
