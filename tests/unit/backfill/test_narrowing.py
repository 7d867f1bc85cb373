"""What a replay reads of a table for an application, and what it leaves."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from backfill.cli import backfill
from backfill.narrowing import columns_of
from backfill.period import parse_period
from backfill.request import Request, plan_of, sources_of
from headrace.config.load import load_app, load_workspace
from headrace.iceberg.catalog import open_catalog
from tests.integration.backfill.lake_tables import Stored, make_table

if TYPE_CHECKING:
    from pathlib import Path

    from headrace.config.workspace import Workspace

WORKSPACE = """\
clusters: {}
catalogs:
  lake: {type: sql, uri: "sqlite:///.headrace/catalog.db", warehouse: ".headrace/warehouse"}
"""
APP = """\
kind: app
name: narrow
sources:
  events: {type: iceberg, catalog: lake, database: replays, table: events%s}
  again: {type: iceberg, catalog: lake, database: replays, table: events}
transform: %s
watermarks: %s
sink: {type: jsonl, path: out}
"""
TABLE = "lake.replays.events"
PERIOD = ["--start-ts", "2026-03-01", "--end-ts", "2026-03-02"]


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    """A workspace with a table of `id`, `items` and the metadata."""
    (tmp_path / "headrace.yaml").write_text(WORKSPACE)
    workspace = load_workspace(tmp_path)
    files = [[Stored(0, 50 * number + row, 60.0 * row) for row in range(50)] for number in range(3)]
    make_table(open_catalog(workspace.catalog("lake")), "events", files)
    return workspace


def app_file(workspace: Workspace, transform: str, more: str = "", watermarks: str = "{}") -> Path:
    path = workspace.root / "app.yaml"
    path.write_text(APP % (more, transform, watermarks))
    return path


@pytest.mark.parametrize(
    ("transform", "read"),
    [
        ('{sql: "SELECT id FROM events"}', ("id",)),
        ('{sql: "SELECT ID + 1 AS n FROM events"}', ("id",)),
        ('{sql: "SELECT count(*) AS n FROM events"}', ("__metadata__",)),
        ('{sql: "SELECT __metadata__.offset FROM events"}', ("__metadata__",)),
        ('{sql: "SELECT * FROM events"}', None),
        (
            '{sql: "SELECT e.id, a.items FROM events e JOIN again a ON e.id = a.id"}',
            ("id", "items"),
        ),
        ('{python: "module:build"}', None),
    ],
)
def test_what_a_query_mentions_is_read(
    transform: str, read: tuple[str, ...] | None, workspace: Workspace
) -> None:
    app = load_app(app_file(workspace, transform), workspace)
    request = Request((TABLE,), parse_period("2026-03-01", "2026-03-02"), (), "bounded", 10**9)
    tables = sources_of(workspace, plan_of(workspace, request))
    assert columns_of(app, tables) == ({} if read is None else {TABLE: read})


def test_of_two_sources_of_a_table_one_of_which_declares_its_columns_both_are_served(
    workspace: Workspace,
) -> None:
    file = app_file(workspace, '{python: "module:build"}', ", columns: [id]")
    request = Request((TABLE,), parse_period("2026-03-01", "2026-03-02"), (), "bounded", 10**9)
    tables = sources_of(workspace, plan_of(workspace, request))
    assert columns_of(load_app(file, workspace), tables) == {}


def test_a_plan_says_what_it_saves(
    workspace: Workspace, capsys: pytest.CaptureFixture[str]
) -> None:
    file = app_file(workspace, '{sql: "SELECT id FROM events"}')

    def planned(*more: str) -> str:
        words = ["plan", "-c", str(file), *PERIOD, "--workspace", str(workspace.root), *more]
        backfill.main(words, standalone_mode=False)
        return capsys.readouterr().out

    (part,) = json.loads(planned("-o", "json"))["read_in_part"]
    assert part["columns"] == ["id", "__metadata__"]
    assert 0 < part["size_bytes"] < part["whole_bytes"]
    assert f"of {TABLE} 2 of 3 columns are read" in planned()
