"""What conditions leave out: in Arrow, by the statistics of row groups, by the bounds of files."""

from __future__ import annotations

import io
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from backfill.plan.conditions import Condition, without_what_follows
from backfill.plan.period import parse_period
from backfill.read.enumerator import FileEnumerator
from backfill.read.row_filter import groups_that_may_match, mask
from backfill.read.source import LakeSource
from backfill.read.table_reader import FilteredRows
from headrace.config.load import load_workspace
from headrace.iceberg.catalog import open_catalog
from tests.integration.backfill.lake_tables import Stored, make_table

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from backfill.plan.conditions import Test
    from headrace.config.workspace.workspace import Workspace

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
INNER = pa.struct([("n", pa.int64())])
SCHEMA = pa.schema(
    {
        "flag": pa.bool_(),
        "small": pa.int32(),
        "text": pa.string(),
        "day": pa.date32(),
        "at": pa.timestamp("us", tz="UTC"),
        "price": pa.decimal128(6, 2),
        "inner": INNER,
    }
)
DECIMALS = st.decimals(-99, 99, places=2)
VALUES: dict[str, tuple[str, st.SearchStrategy[Any]]] = {
    "flag": ("boolean", st.booleans()),
    "small": ("int", st.integers(-3, 3)),
    "text": ("string", st.text("aéz", max_size=2)),
    "day": ("date", st.integers(-3, 3)),
    "at": ("timestamp", st.integers(-3, 3)),
    "price": ("decimal(6,2)", DECIMALS.map(str)),
    "n": ("bigint", st.integers(-3, 3)),
}
MEETS: dict[Test, Callable[[Any, list[Any]], bool]] = {
    "=": lambda held, values: held == values[0],
    "!=": lambda held, values: held != values[0],
    "<": lambda held, values: held < values[0],
    "<=": lambda held, values: held <= values[0],
    ">": lambda held, values: held > values[0],
    ">=": lambda held, values: held >= values[0],
    "in": lambda held, values: held in values,
}


@st.composite
def conditions(draw: st.DrawFn) -> Condition:
    name = draw(st.sampled_from(sorted(VALUES)))
    path = ("inner", "n") if name == "n" else (name,)
    kind, values = VALUES[name]
    if draw(st.booleans()):
        return Condition(path, "", "is not null")
    test = draw(st.sampled_from(list(MEETS)))
    count = draw(st.integers(1, 3)) if test == "in" else 1
    return Condition(path, kind, test, tuple(draw(values) for _ in range(count)))


def as_python(kind: str, value: Any) -> Any:  # noqa: ANN401 - of any type
    match kind:
        case "date":
            return date(1970, 1, 1) + timedelta(days=value)
        case "timestamp":
            return EPOCH + timedelta(microseconds=value)
        case "decimal(6,2)":
            return Decimal(value)
        case _:
            return value


def or_none(name: str) -> st.SearchStrategy[Any]:
    kind, values = VALUES[name]
    return st.none() | values.map(lambda value: as_python(kind, value))


ROWS = st.lists(
    st.fixed_dictionaries(
        {name: or_none(name) for name in VALUES if name != "n"}
        | {"inner": st.none() | st.fixed_dictionaries({"n": or_none("n")})}
    ),
    min_size=1,
    max_size=12,
)


def meets(row: dict[str, Any], condition: Condition) -> bool:
    held: Any = row
    for name in condition.column:
        held = None if held is None else held[name]
    if held is None:
        return False
    wanted = [as_python(condition.kind, value) for value in condition.values]
    return not wanted or MEETS[condition.test](held, wanted)


@given(ROWS, st.lists(conditions(), min_size=1, max_size=3))
def test_no_row_is_left_out_that_meets_them_and_none_kept_that_does_not(
    rows: list[dict[str, Any]], asked: list[Condition]
) -> None:
    table = pa.Table.from_pylist(rows, schema=SCHEMA)
    wanted = [all(meets(row, condition) for condition in asked) for row in rows]
    (batch,) = table.to_batches()
    assert mask(batch, asked).to_pylist() == wanted
    file = io.BytesIO()
    pq.write_table(table, file, row_group_size=2)
    opened = pq.ParquetFile(file)
    kept = groups_that_may_match(opened, range(opened.metadata.num_row_groups), asked)
    assert {number // 2 for number, is_wanted in enumerate(wanted) if is_wanted} <= set(kept)


def test_a_row_group_is_passed_over_whose_statistics_rule_it_out() -> None:
    file = io.BytesIO()
    rows = [{"small": number, "price": Decimal(number)} for number in range(6)]
    pq.write_table(pa.Table.from_pylist(rows, schema=SCHEMA), file, row_group_size=2)
    opened = pq.ParquetFile(file)

    def kept(*asked: Condition) -> list[int]:
        return groups_that_may_match(opened, [0, 1, 2], asked)

    assert kept(Condition(("small",), "int", ">", (3,))) == [2]
    assert kept(Condition(("small",), "int", "in", (0, 4))) == [0, 2]
    assert kept(Condition(("price",), "decimal(6,2)", "<", ("1.50",))) == [0]
    assert kept(Condition(("text",), "string", "=", ("a",))) == [0, 1, 2]


def test_that_a_column_is_not_null_follows_from_any_other_condition_on_it() -> None:
    held, more = Condition(("a",), "", "is not null"), Condition(("b",), "", "is not null")
    equal = Condition(("a",), "bigint", "=", (5,))
    assert without_what_follows([held, equal, more, equal]) == (equal, more)
    assert list(map(str, (held, equal))) == ["a IS NOT NULL", "a = 5"]
    quoted = Condition(("a", "b"), "string", "in", ("it's", "x"))
    assert str(quoted) == "a.b IN ('it''s', 'x')"


WORKSPACE = """\
clusters: {}
catalogs:
  lake: {type: sql, uri: "sqlite:///.headrace/catalog.db", warehouse: ".headrace/warehouse"}
"""


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    """A workspace with a table of three files, of ten ids each, in row groups of five."""
    (tmp_path / "headrace.yaml").write_text(WORKSPACE)
    workspace = load_workspace(tmp_path)
    files = [[Stored(0, 10 * file + row, 60.0 * row) for row in range(10)] for file in range(3)]
    make_table(open_catalog(workspace.catalog("lake")), "events", files, group_rows=5)
    return workspace


@pytest.mark.parametrize(
    ("asked", "ids", "files", "rows"),
    [
        (Condition(("id",), "bigint", ">=", (17,)), range(17, 30), 2, 20),
        (Condition(("id",), "bigint", "in", (3, 4)), [3, 4], 1, 10),
        (Condition(("__metadata__", "offset"), "bigint", "<", (2,)), [0, 1], 3, 30),
        (Condition(("__metadata__", "region"), "", "is not null"), [], 3, 30),
        (Condition(("__metadata__", "region"), "string", "=", ("eu",)), [], 3, 30),
    ],
)
def test_files_are_skipped_by_bounds_and_every_other_row_is_delivered_or_counted(
    asked: Condition, ids: list[int], files: int, rows: int, workspace: Workspace
) -> None:
    period = parse_period("2026-03-01", "2026-03-02")
    source = LakeSource(workspace, "lake.replays.events", period, (), conditions=[asked])
    found = FileEnumerator(source).files()
    assert (len(found.units), found.files_skipped) == (files, 3 - files)
    assert found.rows_skipped == 30 - rows
    left_out = FilteredRows()
    delivered = [
        number
        for unit in found.units
        for batch in source.rows(unit, filtered=left_out)
        for number in batch.column("id").to_pylist()
    ]
    assert sorted(delivered) == list(ids)
    assert left_out.rows + len(delivered) == rows
