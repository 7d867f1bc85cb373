"""Data files whose writer kept no statistics: refused by name, or their times are read."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow.parquet as pq
import pytest

from backfill.plan.period import parse_period
from backfill.read.footers import NoBounds
from backfill.run.planning import plan_of
from backfill.run.request import ReplayRequest
from backfill.streams import Replay
from headrace.config.load import load_workspace
from headrace.iceberg.catalog import open_catalog
from tests.integration.backfill.lake_tables import Stored, make_table

if TYPE_CHECKING:
    from headrace.config.workspace.workspace import Workspace

WORKSPACE = """\
clusters: {}
catalogs:
  lake: {type: sql, uri: "sqlite:///.headrace/catalog.db", warehouse: ".headrace/warehouse"}
"""
SECOND_US = 1_000_000
FILES = 3
ROWS = 20


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    """A workspace with a table whose files are bare, in row groups of five rows."""
    (tmp_path / "headrace.yaml").write_text(WORKSPACE)
    workspace = load_workspace(tmp_path)
    catalog = open_catalog(workspace.catalog("lake"))
    files = [
        [Stored(0, number * ROWS + row, 60.0 * number + row) for row in range(ROWS)]
        for number in range(FILES)
    ]
    make_table(catalog, "bare", files)
    held = catalog.load_table(("replays", "bare"))
    for task in held.scan().plan_files():
        path = Path(task.file.file_path.removeprefix("file://"))
        pq.write_table(pq.read_table(path), path, row_group_size=5, write_statistics=False)
    return workspace


def asked(threshold_us: int, *, scan: bool) -> ReplayRequest:
    period = parse_period("2026-03-01", "2026-03-02")
    return ReplayRequest(("lake.replays.bare",), period, (), "bounded", threshold_us, scan=scan)


def test_a_bare_file_is_refused_by_name_with_the_way_out(workspace: Workspace) -> None:
    with pytest.raises(NoBounds, match=r"data file .*parquet of lake.replays.bare") as raised:
        plan_of(workspace, asked(SECOND_US, scan=False))
    assert "--scan-without-bounds" in str(raised.value)


@pytest.mark.parametrize("threshold_s", [2, 7, 1_000])
def test_scanned_it_replays_within_the_bound(workspace: Workspace, threshold_s: int) -> None:
    plan = plan_of(workspace, asked(threshold_s * SECOND_US, scan=True))
    steps = [
        [value for _, batch in step.batches() for value in batch.column("id").to_pylist()]
        for step in Replay.by(workspace, plan).steps()
    ]
    assert sorted(one for step in steps for one in step) == list(range(FILES * ROWS))
    newest_before_s = -threshold_s
    for step in steps:
        seconds = [60 * (one // ROWS) + one % ROWS for one in step]
        assert newest_before_s - min(seconds) <= threshold_s
        newest_before_s = max(newest_before_s, *seconds)
    assert plan.smallest_free_threshold_us <= ROWS * SECOND_US
