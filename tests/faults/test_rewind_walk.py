"""`headrace rewind` over a table of results, ended between any two writes: it is the old or the new.

Over files of results the same is in tests/unit/stream_app/test_rewind.py.
"""

from __future__ import annotations

import itertools
import shutil
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest
from pyiceberg.io.pyarrow import _dataframe_to_data_files

from headrace.config.load import load_workspace
from headrace.iceberg.catalog import load_table, open_catalog, table_loader
from headrace.landing.commit_state import Identity
from headrace.landing.commits import TableBatch, TableCommits
from stream_app.rewind import cut, results
from tests.faults.last_write import ends_after
from tests.unit.stream_app.test_rewind import checkpoint, names

if TYPE_CHECKING:
    from pathlib import Path

    from headrace.config.workspace.workspace import Workspace

WORKSPACE = """
clusters: {c: {bootstrap_servers: "127.0.0.1:1"}}
catalogs: {lake: {type: sql, uri: "sqlite:///catalog.db", warehouse: warehouse}}
"""
WRITER = "counts.0c8e4b69"
KEPT = 1


class Job:
    """What five batches have left: a checkpoint, and in a table the rows of two of them."""

    def __init__(self, workspace: Workspace, name: str) -> None:
        self.workspace, self.name = workspace, f"lake.results.{name}"
        self.state = workspace.root / name
        checkpoint(self.state / cut.CHECKPOINT)
        lake = open_catalog(workspace.catalog("lake"))
        lake.create_namespace_if_not_exists("results")
        schema = pa.schema([("batch", pa.int64())])
        lake.create_table(("results", name), schema)
        for batch in (KEPT, 4):
            self.commit(batch)

    def commit(self, batch: int) -> None:
        """Land a batch as the job does."""
        table = load_table(self.workspace, self.name)
        rows = pa.table({"batch": pa.array([batch], pa.int64())})
        files = list(_dataframe_to_data_files(table.metadata, rows, table.io))
        for file in files:
            file.spec_id = 0
        load = table_loader(self.workspace, self.name)
        commits = TableCommits(load, self.name, Identity.of_this_process(WRITER, "query"))
        mark = commits.resume()
        assert mark is None or mark.next_offsets[0] <= batch
        commits.commit(TableBatch(files, {0: batch}, {0: batch + 1}))

    def go_back(self) -> None:
        taken = results.TableRollback(self.name, WRITER, leave=False)
        cut.prepare(self.state, cut.Cut(KEPT, "before", taken))
        cut.finish(self.state, self.workspace)

    @property
    def outcome(self) -> tuple[set[str], list[int]]:
        rows = load_table(self.workspace, self.name).scan().to_arrow()
        return names(self.state / cut.CHECKPOINT), sorted(rows["batch"].to_pylist())


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    (tmp_path / "headrace.yaml").write_text(WORKSPACE, encoding="utf-8")
    return load_workspace(tmp_path)


def test_a_table_and_its_checkpoint_go_back_together_wherever_it_ended(
    workspace: Workspace,
) -> None:
    through = Job(workspace, "through")
    old = through.outcome
    through.go_back()
    new = through.outcome
    assert (old[1], new[1]) == ([KEPT, 4], [KEPT])
    outcomes = []
    for number in itertools.count():
        job = Job(workspace, f"walked_{number}")
        with ends_after(number, workspace.root / "catalog.db") as writes:
            job.go_back()
        # What the next start of the job does first.
        cut.finish(job.state, workspace)
        assert job.outcome in (old, new), writes.done
        outcomes.append(job.outcome == new)
        # And the job goes on from there.
        job.commit(KEPT + 1 if outcomes[-1] else 5)
        shutil.rmtree(job.state)
        if not writes.ended:
            break
    assert f"commit {job.name.rpartition('.')[2]}" in writes.done
    assert sorted(outcomes) == outcomes, "what was decided is done"
    assert {True, False} == set(outcomes)
