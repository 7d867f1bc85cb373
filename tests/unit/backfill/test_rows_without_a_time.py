"""Rows without a time are of no period: refused, or left out and counted, in every layout."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.transforms import IdentityTransform
from pyiceberg.types import (
    IntegerType,
    LongType,
    NestedField,
    StringType,
    StructType,
    TimestamptzType,
)

from backfill.plan.preconditions import RowsWithoutTime
from backfill.streams import Replay
from headrace.config.load import load_workspace
from headrace.iceberg.catalog import open_catalog
from stream_app.follow.position import Hop
from stream_app.follow.table import ALWAYS, FollowedTable, FollowedTableSettings
from tests.integration.backfill.in_process import Commands, rows_in

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyiceberg.catalog import Catalog
    from pyiceberg.table import Table

    from headrace.config.workspace.workspace import Workspace

WORKSPACE = """\
clusters: {}
catalogs:
  lake: {type: sql, uri: "sqlite:///.headrace/catalog.db", warehouse: ".headrace/warehouse"}
"""
NAME = "lake.shop.orders"
DAY = datetime(2026, 3, 1, tzinfo=UTC)
SCHEMA = Schema(
    NestedField(1, "id", LongType()),
    NestedField(2, "at", TimestamptzType()),
    NestedField(
        3,
        "__metadata__",
        StructType(
            NestedField(4, "seen", TimestamptzType()),
            NestedField(5, "topic", StringType()),
            NestedField(6, "partition", IntegerType()),
            NestedField(7, "offset", LongType()),
            NestedField(8, "region", StringType()),
        ),
    ),
)
ARROW = pa.schema(
    [
        ("id", pa.int64()),
        ("at", pa.timestamp("us", tz="UTC")),
        (
            "__metadata__",
            pa.struct(
                [
                    ("seen", pa.timestamp("us", tz="UTC")),
                    ("topic", pa.string()),
                    ("partition", pa.int32()),
                    ("offset", pa.int64()),
                    ("region", pa.string()),
                ]
            ),
        ),
    ]
)
# By the manifest's own count, and by the footer alone: pyiceberg counts nothing inside a struct.
COLUMNS = ("at", "__metadata__.seen")
LAYOUTS = [
    # Whole files, runs of row groups, slices of one row group.
    *[("bounded", f"{threshold}s", 10) for threshold in (1_000, 20, 3)],
    ("any", "20s", 10),
    ("strict", "20s", 10),
    ("strict", "20s", 1_000),
]


@pytest.fixture
def catalog(tmp_path: Path) -> Catalog:
    (tmp_path / "headrace.yaml").write_text(WORKSPACE)
    made = open_catalog(load_workspace(tmp_path).catalog("lake"))
    made.create_namespace("shop")
    return made


@pytest.fixture
def commands(catalog: Catalog, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Commands:
    """The command, in a workspace with a catalog."""
    assert catalog.list_namespaces()
    return Commands(load_workspace(tmp_path), capsys)


def rows(numbers: Sequence[int], timeless: Sequence[int] = ()) -> pa.Table:
    """Rows a second apart; of some it is not known when they were."""

    def row(number: int) -> dict[str, object]:
        at = None if number in timeless else DAY + timedelta(seconds=number)
        region = "eu" if number % 2 else "us"
        place = {"topic": "orders", "partition": 0, "offset": number, "region": region}
        return {"id": number, "at": at, "__metadata__": {"seen": at, **place}}

    return pa.Table.from_pylist([row(number) for number in numbers], schema=ARROW)


def orders(catalog: Catalog, group_rows: int = 1_000) -> Table:
    """100 rows, 10 of them without a time: the ones of the numbers 5, 15, …; in two files."""
    limit = {"write.parquet.row-group-limit": str(group_rows)}
    table = catalog.create_table(("shop", "orders"), SCHEMA, properties=limit)
    table.append(rows(range(60), range(5, 60, 10)))
    table.append(rows(range(60, 100), range(65, 100, 10)))
    return table


TIMED = [number for number in range(100) if number % 10 != 5]


@pytest.mark.parametrize("column", COLUMNS)
@pytest.mark.parametrize(("order", "threshold", "group_rows"), LAYOUTS)
def test_planned_is_delivered_and_left_out(
    column: str,
    order: str,
    threshold: str,
    group_rows: int,
    catalog: Catalog,
    commands: Commands,
    tmp_path: Path,
) -> None:
    orders(catalog, group_rows)
    by = ("--time-column", column, "--order", order, "--max-misalignment", threshold)
    with pytest.raises(RowsWithoutTime, match=rf"10 rows of {NAME} have no time") as raised:
        commands.replay(NAME, f"jsonl:{tmp_path}/out", *by)
    assert "--null-times skip" in str(raised.value)
    assert "6 of them are in data file" in str(raised.value)
    words = ("plan", "--table", NAME, "--start-ts", "2026-03-01", "--end-ts", "2026-03-02", *by)
    plan = commands(*words, "-o", "json").json
    assert (plan["rows"], plan["null_times"]) == (100, 10)
    assert [one["rows"] for one in plan["sources"][0]["null_times_in"]] == [6, 4]
    assert "10 rows without a time" in commands(*words).out

    done = commands.replay(NAME, f"jsonl:{tmp_path}/out", *by, "--null-times", "skip")
    assert sorted(row["id"] for row in rows_in(tmp_path / "out")) == TIMED
    certificate = done.json
    assert (done.code, certificate["differences"]) == (0, [])
    assert (certificate["rows"], certificate["null_times"]) == (90, 10)
    (source,) = certificate["sources"]
    assert source["rows_at_least"] == source["rows_at_most"] == plan["rows"]


def bare(table: Table, *, statistics: bool) -> None:
    for task in table.scan().plan_files():
        path = Path(task.file.file_path.removeprefix("file://"))
        pq.write_table(pq.read_table(path), path, row_group_size=7, write_statistics=statistics)


@pytest.mark.parametrize("threshold", ["1000s", "3s"])
def test_they_are_counted_where_the_times_had_to_be_read(
    threshold: str, catalog: Catalog, commands: Commands, tmp_path: Path
) -> None:
    bare(orders(catalog), statistics=False)
    by = ("--time-column", COLUMNS[1], "--max-misalignment", threshold, "--scan-without-bounds")
    done = commands.replay(NAME, f"jsonl:{tmp_path}/out", *by, "--null-times", "skip")
    assert (done.code, done.json["rows"], done.json["null_times"]) == (0, 90, 10)


@pytest.mark.parametrize("column", COLUMNS)
# Without statistics nothing but the rows says that none has a time.
@pytest.mark.parametrize(
    ("statistics", "more"),
    [(True, ()), (True, ("--scan-without-bounds",)), (False, ("--scan-without-bounds",))],
)
def test_a_file_in_which_no_row_has_a_time(
    statistics: bool,
    more: tuple[str, ...],
    column: str,
    catalog: Catalog,
    commands: Commands,
    tmp_path: Path,
) -> None:
    table = catalog.create_table(("shop", "orders"), SCHEMA)
    table.append(rows(range(12), range(12)))
    if not statistics:
        bare(table, statistics=False)
    by = ("--time-column", column, "--null-times", "skip", *more)
    done = commands.replay(NAME, f"jsonl:{tmp_path}/out", *by)
    assert (done.code, done.json["rows"], done.json["null_times"]) == (0, 0, 12)
    table.append(rows(range(12, 20)))
    done = commands.replay(NAME, f"jsonl:{tmp_path}/more", *by)
    assert (done.code, done.json["rows"], done.json["null_times"]) == (0, 8, 12)


def test_a_file_from_before_there_were_times(
    catalog: Catalog, commands: Commands, tmp_path: Path
) -> None:
    table = catalog.create_table(("shop", "orders"), Schema(NestedField(1, "id", LongType())))
    table.append(pa.table({"id": [1, 2, 3]}))
    with table.update_schema() as update:
        update.add_column("at", TimestamptzType())
    table.append(pa.table({"id": [4], "at": pa.array([DAY], pa.timestamp("us", "UTC"))}))
    by = ("--time-column", "at", "--null-times", "skip")
    done = commands.replay(NAME, f"jsonl:{tmp_path}/out", *by)
    assert (done.code, done.json["rows"], done.json["null_times"]) == (0, 1, 3)


def test_of_other_days_only_those_without_any_time_count(
    catalog: Catalog, commands: Commands, tmp_path: Path
) -> None:
    spec = PartitionSpec(PartitionField(2, 1000, IdentityTransform(), "at_once"))
    table = catalog.create_table(("shop", "orders"), SCHEMA, partition_spec=spec)
    # Each partition in a manifest of its own, which a period may leave aside.
    for number in (*range(10), 90_000):
        table.append(rows([number], [3, 4]))
    by = ("--time-column", "at", "--null-times", "skip")
    done = commands.replay(NAME, f"jsonl:{tmp_path}/out", *by)
    assert (done.code, done.json["rows"], done.json["null_times"]) == (0, 8, 2)
    # Those of a file of the next day are that day's.
    unpartitioned = catalog.create_table(("shop", "more"), SCHEMA)
    unpartitioned.append(rows(range(4)))
    unpartitioned.append(rows(range(90_000, 90_004), [90_001]))
    done = commands.replay("lake.shop.more", f"jsonl:{tmp_path}/more", *by)
    assert (done.code, done.json["rows"], done.json["null_times"]) == (0, 4, 0)


def test_of_the_regions_asked_for(catalog: Catalog, commands: Commands, tmp_path: Path) -> None:
    orders(catalog).append(rows(range(100, 104), [100]))
    by = ("--time-column", "at", "--null-times", "skip", "--regions", "us")
    done = commands.replay(NAME, f"jsonl:{tmp_path}/out", *by)
    # 5, 15, … are of the other region.
    assert (done.code, done.json["rows"], done.json["null_times"]) == (0, 51, 1)
    assert done.json["differences"] == []


def test_a_program_is_told_the_same(catalog: Catalog, tmp_path: Path) -> None:
    orders(catalog)
    period = "2026-03-01", "2026-03-02"
    with pytest.raises(RowsWithoutTime):
        Replay([NAME], *period, time_column="at", workspace=tmp_path)
    replay = Replay([NAME], *period, time_column="at", null_times="skip", workspace=tmp_path)
    delivered = sum(batch.num_rows for step in replay.steps() for _, batch in step.batches())
    assert (delivered, replay.plan.null_times) == (90, 10)


def test_whoever_follows_counts_them_or_stops(catalog: Catalog, tmp_path: Path) -> None:
    table = orders(catalog)
    workspace: Workspace = load_workspace(tmp_path)

    def followed(then: str) -> FollowedTable:
        assert then in {"fail", "skip"}
        told = FollowedTableSettings(NAME, "at", 1_000, "complete", "fail", then)  # type: ignore[arg-type]  # one of the two
        return FollowedTable(workspace, told)

    first = table.metadata.snapshots[0].snapshot_id
    looking, strict = followed("skip"), followed("fail")
    assert looking.null_times(Hop(None, first), ALWAYS.start_us) == 6
    second = table.current_snapshot()
    assert second is not None
    hop = Hop(first, second.snapshot_id)
    assert looking.null_times(hop, ALWAYS.start_us) == 4
    with pytest.raises(RowsWithoutTime, match=r"4 rows"):
        strict.null_times(hop, ALWAYS.start_us)
    table.append(rows(range(100, 110)))
    last = table.current_snapshot()
    assert last is not None
    strict.look()
    assert strict.null_times(Hop(second.snapshot_id, last.snapshot_id), ALWAYS.start_us) == 0
