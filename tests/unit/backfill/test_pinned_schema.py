"""A replay's columns are those of its plan, whatever becomes of the table while it goes on."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from pyiceberg.types import StringType

from backfill.plan.period import parse_period
from backfill.read.enumerator import FileEnumerator
from backfill.read.source import LakeSource
from backfill.run import tags
from backfill.run.planning import plan_of, sources_of
from backfill.run.request import ReplayRequest
from headrace.config.load import load_workspace
from headrace.contract import INGESTION_TS
from headrace.errors import Terminal
from headrace.iceberg.catalog import open_catalog
from tests.integration.backfill.lake_tables import Stored, make_table

if TYPE_CHECKING:
    from pathlib import Path

    from pyiceberg.table import Table

    from backfill.plan.plan import Plan
    from headrace.config.workspace.workspace import Workspace

WORKSPACE = """\
clusters: {}
catalogs:
  lake: {type: sql, uri: "sqlite:///.headrace/catalog.db", warehouse: ".headrace/warehouse"}
"""
TABLE = "lake.replays.events"
PERIOD = parse_period("2026-03-01", "2026-03-02")


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    """A workspace with a table of one file, of ten ids."""
    (tmp_path / "headrace.yaml").write_text(WORKSPACE)
    workspace = load_workspace(tmp_path)
    rows = [Stored(0, number, 60.0 * number) for number in range(10)]
    make_table(open_catalog(workspace.catalog("lake")), "events", [rows], at="at")
    return workspace


def table_of(workspace: Workspace) -> Table:
    return open_catalog(workspace.catalog("lake")).load_table("replays.events")


def planned(workspace: Workspace, time_column: str) -> Plan:
    request = ReplayRequest((TABLE,), PERIOD, (), "bounded", 60_000_000, time_column=time_column)
    return plan_of(workspace, request)


@pytest.mark.parametrize("time_column", [INGESTION_TS, "at"])
@pytest.mark.parametrize("columns", [(), ("id",)])
def test_a_rename_in_mid_replay_changes_nothing_that_is_read(
    time_column: str, columns: tuple[str, ...], workspace: Workspace
) -> None:
    plan = planned(workspace, time_column)
    before = rows_of(sources_of(workspace, plan, columns)[TABLE])
    with table_of(workspace).update_schema() as change:
        change.rename_column("id", "number")
        change.rename_column("at", "since")
        change.delete_column("items")
    with table_of(workspace).update_schema() as change:
        # A new column of an old name is another one.
        change.add_column("id", StringType())
    source = sources_of(workspace, plan, columns)[TABLE]
    tags.hold(source, "run")
    assert rows_of(source) == before
    assert [row["id"] for row in before] == list(range(10))


def rows_of(source: LakeSource) -> list[dict[str, object]]:
    units = [
        piece
        for file in FileEnumerator(source).files().units
        for piece in FileEnumerator(source).cut(file, 60_000_000)[0]
    ]
    rows = [row for unit in units for batch in source.rows(unit) for row in batch.to_pylist()]
    return sorted(rows, key=lambda row: row["id"])


def test_a_schema_that_is_gone_is_named(workspace: Workspace) -> None:
    with pytest.raises(Terminal, match=r"schema 77 of lake\.replays\.events, .* is gone"):
        LakeSource(workspace, TABLE, PERIOD, (), schema_id=77)
