"""What a replay reads of a table for an application: no more than Spark's plan of it uses."""

from __future__ import annotations

import math
import random
from typing import TYPE_CHECKING, Any

import pytest

from backfill.apps.narrowing import conditions_of, partial_reads, query_of
from backfill.apps.replay import AppRun, replay_app
from backfill.apps.spark_source import NAME, ReplaySource
from backfill.apps.used_columns import table_uses
from backfill.command.plan_report import as_json, as_text
from backfill.command.planned import PlannedReplay
from backfill.plan.period import parse_period
from backfill.read.row_filter import mask
from backfill.run.planning import plan_of
from backfill.run.request import ReplayRequest, new_run_id
from headrace.config.load import load_app
from headrace.contract import INGESTION_TS
from headrace.errors import UsageError
from headrace.signals import Drain
from tests.integration.backfill.lake_tables import Stored, make_table

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyiceberg.catalog import Catalog
    from pyspark.sql import DataFrame, SparkSession

    from backfill.apps.used_columns import TableUse
    from headrace.config.load import LoadedApp
    from headrace.config.workspace.workspace import Workspace

SOURCE = "{type: iceberg, catalog: lake, database: replays, table: %s%s}"
APP = """\
kind: app
name: %s
sources:
  events: %s
  again: %s
transform: %s
watermarks: {events: {column: at, delay: 1min}}
sink: {type: jsonl, path: out_%s}
"""
BUILDS = """\
import os
from datetime import datetime

from pyspark.sql import functions as F


def two(sources):
    events = sources["events"]
    return events.where(F.col("id") >= 20).select(events.columns[0], events.columns[-1])


def whole(sources):
    return sources["again"].where("id % 2 = 0 AND hour(at) >= 0")


def mapped(sources):
    return sources["events"].where("id < 5").mapInPandas(lambda frames: frames, "id long")


def least(sources):
    return sources["again"].where("id >= " + os.environ["LEAST"]).select("id")


def now(sources):
    return sources["again"].where(F.col("at") < datetime.now()).select("id")
"""
WINDOWED = """{sql: "SELECT window.start, count(*) AS n FROM events WHERE id >= 20
GROUP BY window(at, '1 minute')"}"""
PERIOD = parse_period("2026-03-01", "2026-03-02")


class Narrow:
    """Applications over one table of three files of fifty rows, in row groups of ten."""

    def __init__(
        self, workspace: Workspace, spark: SparkSession, catalog: Catalog, name: str
    ) -> None:
        self.workspace, self.spark, self.name = workspace, spark, name
        files = [[Stored(0, 50 * n + row, 60.0 * row) for row in range(50)] for n in range(3)]
        self.table = make_table(catalog, name, files, group_rows=10, at="at")
        (workspace.root / "builds.py").write_text(BUILDS)

    def app(self, transform: str, more: str = "") -> LoadedApp:
        path = self.workspace.root / f"{self.name}.yaml"
        source, again = SOURCE % (self.name, more), SOURCE % (self.name, "")
        path.write_text(APP % (self.name, source, again, transform, self.name))
        return load_app(path, self.workspace)

    def used(self, transform: str, more: str = "") -> TableUse:
        app = self.app(transform, more)
        return query_of(app, self.workspace, self.spark, INGESTION_TS).uses[self.table]

    @property
    def request(self) -> ReplayRequest:
        return ReplayRequest((self.table,), PERIOD, (), "bounded", 20 * 60_000_000)


@pytest.fixture
def narrow(
    workspace: Workspace, spark: SparkSession, lake_catalog: Catalog, unique: Callable[[str], str]
) -> Narrow:
    return Narrow(workspace, spark, lake_catalog, unique("narrow"))


@pytest.mark.parametrize(
    ("transform", "columns", "conditions"),
    [
        ('{sql: "SELECT ID + 1 AS n FROM events"}', {"id", "at"}, []),
        ('{sql: "SELECT id FROM again WHERE 5 > ID"}', {"id"}, ["id < 5"]),
        ('{sql: "SELECT count(*) AS n FROM again"}', set(), []),
        ('{sql: "SELECT * FROM again WHERE id IN (1, 2)"}', None, ["id IN (1, 2)"]),
        (
            "{sql: \"SELECT id FROM again WHERE __metadata__.region = 'eu' AND id % 2 = 0\"}",
            {"id", "__metadata__"},
            ["__metadata__.region = 'eu'"],
        ),
        # The conditions of both, in columns that either needs.
        (
            '{sql: "SELECT id, null FROM again WHERE id > 9 UNION ALL SELECT id, items FROM again"}',
            {"id", "items"},
            [],
        ),
        # What is asked of the column of the watermark stays above it.
        ("{sql: \"SELECT id FROM events WHERE at > '2026-03-01'\"}", {"id", "at"}, []),
        (
            "{sql: \"SELECT id FROM again WHERE at > '2026-03-01'\"}",
            {"id", "at"},
            ["at > '2026-03-01T00:00:00.000000Z'"],
        ),
        # The null side of an outer join.
        (
            '{sql: "SELECT a.id FROM again a LEFT JOIN again b ON a.id = b.id WHERE b.id IS NULL"}',
            {"id"},
            [],
        ),
        # Another time of now in every batch.
        (
            '{sql: "SELECT id FROM again WHERE at < now()"}',
            {"id", "at"},
            [],
        ),
        (
            "{sql: \"SELECT id FROM again WHERE at < cast('today' AS timestamp) AND id > 2\"}",
            {"id", "at"},
            [],
        ),
        (
            "{sql: \"SELECT id FROM again WHERE at < TIMESTAMP 'now' AND id > 2\"}",
            {"id", "at"},
            ["id > 2"],
        ),
        # It is drawn for each row that comes to it.
        ('{sql: "SELECT id FROM again WHERE rand(1) < 0.5 AND id > 2"}', {"id"}, []),
        ('{sql: "SELECT id FROM again WHERE id > 2 AND rand(1) < 0.5"}', {"id"}, ["id > 2"]),
        # Bytes that are no text are shown as another one.
        (
            "{sql: \"SELECT id FROM again WHERE __metadata__.topic > cast(X'80' AS string)\"}",
            {"id", "__metadata__"},
            [],
        ),
        ('{python: "builds:two"}', {"id", "at", "__metadata__"}, ["id >= 20"]),
        ('{python: "builds:whole"}', None, ["at IS NOT NULL"]),
        ('{python: "builds:mapped"}', None, ["id < 5"]),
        ('{python: "builds:now"}', {"id", "at"}, []),
    ],
)
def test_what_a_transform_uses_is_seen(
    transform: str, columns: set[str] | None, conditions: list[str], narrow: Narrow
) -> None:
    used = narrow.used(transform)
    assert used.columns == (None if columns is None else frozenset(columns))
    assert sorted(map(str, used.conditions)) == sorted(conditions)


def test_columns_that_one_of_two_sources_declares_narrow_nothing_by_themselves(
    narrow: Narrow,
) -> None:
    assert narrow.used('{python: "builds:whole"}', ", columns: [id]").columns is None


def test_a_plan_says_what_is_not_read(narrow: Narrow) -> None:
    app = narrow.app('{sql: "SELECT id FROM again WHERE id >= 60"}')
    uses = query_of(app, narrow.workspace, narrow.spark, INGESTION_TS).uses
    plan = plan_of(narrow.workspace, narrow.request, conditions_of(uses))
    parts = list(partial_reads(plan, narrow.workspace, uses))
    planned = PlannedReplay(plan, parts)
    text, machine = as_text(planned, {}), as_json(planned, {})
    assert (
        "only rows with id >= 60: 1 more files, 50 rows, have none of these and are not read"
        in text
    )
    assert f"{narrow.table}: 2 of 4 columns are read" in text
    assert '"conditions": [\n        "id >= 60"' in machine
    assert 0 < parts[0].size_bytes < parts[0].whole_bytes
    assert plan.rows == 100


@pytest.mark.parametrize(
    "transform",
    [
        '{python: "builds:two"}',
        WINDOWED,
    ],
)
def test_a_replay_gives_the_same_whether_it_reads_all_or_in_part(
    transform: str, narrow: Narrow, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = narrow.app(transform)
    run = AppRun(app, narrow.workspace, new_run_id())
    certificate = replay_app(run, narrow.request, narrow.spark, Drain())
    (source,) = certificate.sources
    assert certificate.differences() == []
    assert source.left_out > 0
    assert (source.rows_read, source.rows) == (
        source.rows_at_most,
        source.rows_read - source.left_out,
    )
    in_part = written(narrow)

    monkeypatch.setattr("backfill.apps.replay.conditions_of", lambda _: {})
    monkeypatch.setattr("backfill.apps.replay.columns_used", lambda *_: {})
    whole = replay_app(
        AppRun(app, narrow.workspace, new_run_id()), narrow.request, narrow.spark, Drain()
    )
    assert (whole.rows, whole.sources[0].left_out) == (150, 0)
    assert len(in_part) > 10
    assert written(narrow) == in_part


def written(narrow: Narrow) -> list[str]:
    folder = narrow.workspace.root / f"out_{narrow.name}"
    lines = sorted(
        line for file in folder.glob("*.jsonl") for line in file.read_text().splitlines()
    )
    for file in folder.glob("*"):
        file.unlink()
    return lines


def test_a_run_is_not_gone_on_with_for_rows_that_it_has_left_out(
    narrow: Narrow, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The same application by all that can be known of it beforehand, and yet another query.
    monkeypatch.setenv("LEAST", "60")
    run = AppRun(narrow.app('{python: "builds:least"}'), narrow.workspace, new_run_id())
    replay_app(run, narrow.request, narrow.spark, Drain())
    monkeypatch.setenv("LEAST", "50")
    with pytest.raises(UsageError, match=r"only the rows of .* with id >= 60"):
        replay_app(run, None, narrow.spark, Drain())


NAMES = ("flag", "n", "big", "price", "text", "day", "at", "ratio", "inner.x")
WORDS = {
    "flag": ["true", "false"],
    "n": ["1", "-1", "'1'", "1.5", "2147483648"],
    "big": ["0", "3", "'2'", "2.0", "1e0"],
    "price": ["1.5", "1", "'1.50'", "0.001"],
    "text": ["'a'", "'A'", "''", "'é'", "1", "DATE '2026-03-01'"],
    "day": ["DATE '2026-03-01'", "'2026-03-01'", "TIMESTAMP '2026-03-01 12:00:00'"],
    "at": ["TIMESTAMP '2026-03-01 00:00:00'", "'2026-03-01T05:00:00+05:00'", "DATE '2026-03-01'"],
    "ratio": ["double('NaN')", "0.0", "-0.0", "1"],
    "inner.x": ["1", "2"],
}
SHAPES = (
    "{c} = {v}", "{v} < {c}", "{c} >= {v}", "{c} != {v}", "NOT ({c} <= {v})", "{c} <=> {v}",
    "{c} IN ({v}, {w})", "{c} NOT IN ({v}, {w})", "{c} BETWEEN {v} AND {w}", "{c} IS NOT NULL",
    "{c} IS NULL", "{c} = {v} OR n = 1", "{c} = {v} AND n IS NOT NULL", "coalesce({c}, {v}) = {w}",
)  # fmt: skip


def some(dice: random.Random, name: str) -> Any:  # noqa: ANN401 - of any type
    choices: dict[str, list[Any]] = {
        "flag": [True, False],
        "n": [-1, 0, 1, 2],
        "big": [0, 1, 2, 3, 2**40],
        "price": ["1.50", "1.00", "0.00", "-2.25"],
        "text": ["a", "A", "", "é", "1", "2026-03-01", "b"],
        "day": ["2026-02-28", "2026-03-01", "2026-03-02"],
        "at": ["2026-03-01 00:00:00", "2026-02-28 23:59:59.999999", "2026-03-01 12:00:00"],
        "ratio": [math.nan, 0.0, -0.0, 1.0],
    }
    return dice.choice([None, *choices[name]])


def test_nothing_is_left_out_that_spark_would_keep(narrow: Narrow) -> None:
    """Conditions of all kinds, on nulls, NaN, other cases and zones, against Spark itself."""
    dice, spark = random.Random(20_260_301), narrow.spark
    rows = [
        (k, *(some(dice, name) for name in NAMES[:-1]), None if k % 5 == 0 else (k % 4 or None,))
        for k in range(60)
    ]
    raw = spark.createDataFrame(
        rows,
        "k int, flag boolean, n int, big bigint, price string, text string, day string, at string,"
        " ratio double, inner struct<x: int>",
    )
    held = raw.selectExpr(
        "k", "flag", "n", "big", "cast(price AS decimal(6,2)) price", "text", "date(day) day",
        "timestamp(at) at", "ratio", "inner",
    ).localCheckpoint()  # fmt: skip
    batch = held.toArrow().combine_chunks().to_batches()[0]
    spark.dataSource.register(ReplaySource)
    reader = spark.readStream.format(NAME).schema(held.schema)
    stream = reader.option("table", "lake.a.b").load()
    translated = 0
    for _ in range(60):
        name = dice.choice(NAMES)
        value, other = dice.choice(WORDS[name]), dice.choice(WORDS[name])
        where = dice.choice(SHAPES).format(c=name, v=value, w=other)
        kept, used = _kept(held, stream, where)
        if kept is None or used is None or not used.conditions:
            continue
        translated += 1
        left = batch.filter(mask(batch, used.conditions))
        assert kept <= set(left.column("k").to_pylist()), (where, list(map(str, used.conditions)))
    assert translated > 20


def _kept(
    held: DataFrame, stream: DataFrame, where: str
) -> tuple[set[int] | None, TableUse | None]:
    """Return which rows Spark keeps, and what is seen in its plan; None where it refuses a row."""
    try:
        kept = {row["k"] for row in held.where(where).select("k").collect()}
    except Exception:  # noqa: BLE001 - as ANSI asks: a text that is no number ends the query
        return None, None
    return kept, table_uses(stream.where(where).select("k")).get("lake.a.b")
