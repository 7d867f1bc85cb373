"""A plan of many files is made of their manifests alone: none of the files is there."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from backfill.plan.period import parse_period
from backfill.run.planning import plan_of
from backfill.run.request import ReplayRequest
from benchmarks.many_files import FILES_PER_MANIFEST, ROWS_PER_FILE, make_wide_table
from headrace.config.load import load_workspace
from headrace.iceberg.catalog import open_catalog
from headrace.times import parse_time_us

if TYPE_CHECKING:
    from backfill.plan.plan import Plan
    from headrace.config.workspace.workspace import Workspace

WORKSPACE = """\
clusters: {}
catalogs:
  lake: {type: sql, uri: "sqlite:///.headrace/catalog.db", warehouse: ".headrace/warehouse"}
"""
FILES = 20_000
EVERY_US = 30_000_000
DAY_US = 86_400_000_000
THRESHOLD_US = 900_000_000


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    """A workspace with a table of so many files, one beginning every half minute."""
    root = tmp_path_factory.mktemp("many")
    (root / "headrace.yaml").write_text(WORKSPACE)
    workspace = load_workspace(root)
    catalog = open_catalog(workspace.catalog("lake"))
    make_wide_table(catalog, ("many", "files"), FILES, parse_time_us("2026-03-01"), EVERY_US)
    return workspace


def planned(workspace: Workspace, start: str, end: str) -> Plan:
    period = parse_period(start, end)
    request = ReplayRequest(("lake.many.files",), period, (), "bounded", THRESHOLD_US)
    return plan_of(workspace, request)


def test_the_steps_hold_all_files_and_no_more_time_than_asked(workspace: Workspace) -> None:
    plan = planned(workspace, "2026-03-01", "2026-04-01")
    (source,) = plan.sources
    assert FILES > FILES_PER_MANIFEST
    assert source.files == source.units == FILES
    assert plan.rows == FILES * ROWS_PER_FILE
    assert plan.state_window_us <= plan.threshold_us
    assert plan.smallest_free_threshold_us == 2 * EVERY_US - 1


def test_only_the_files_of_the_period_are_in_it(workspace: Workspace) -> None:
    (source,) = planned(workspace, "2026-03-02", "2026-03-03").sources
    # Those that begin within the day, and the one that reaches into it.
    assert source.files == DAY_US // EVERY_US + 1
