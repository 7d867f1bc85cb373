"""What sinks promise where a batch is done twice: Spark repeats the one whose end it has not kept."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest
from pyspark.sql import functions as F  # noqa: N812 - as everybody names it

from backfill.plan.period import parse_period
from headrace.application.emitted import within
from headrace.application.late_rows import LateRows
from headrace.application.sinks import start
from headrace.config.app.sinks import IcebergSink, JsonlSink, TopicOfResults
from headrace.errors import Terminal
from headrace.queries.checkpoint import watermark_us
from headrace.queries.streaming import finish
from headrace.signals import Drain

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pyspark.sql import SparkSession

    from headrace.config.app.sinks import AppSink
    from headrace.config.workspace.workspace import Workspace
    from tests.integration.pipelines import Pipelines

SCHEMA = "user string, at timestamp, version int, events int"


@dataclass
class Query:
    """A query over a folder: every file that is put there becomes a batch."""

    spark: SparkSession
    workspace: Workspace
    folder: Path
    sink: AppSink
    name: str = "sessions"
    first_of_each_user: bool = False

    def put(self, *rows: tuple[str, int, int]) -> None:
        """Put rows of user, version and events there, and run the query over them."""
        incoming = self.folder / "in"
        incoming.mkdir(exist_ok=True)
        lines = [
            json.dumps({"user": u, "at": "2026-03-01T00:00:00Z", "version": v, "events": e})
            for u, v, e in rows
        ]
        (incoming / f"{len(list(incoming.iterdir())):03d}.json").write_text("\n".join(lines))
        self.run()

    def run(self, checkpoint: str = "checkpoint") -> None:
        frame = self.spark.readStream.schema(SCHEMA).json(str(self.folder / "in"))
        if getattr(self.sink, "deleted", None):
            frame = frame.withColumn("gone", F.col("events") == 0)
        if self.first_of_each_user:
            frame = frame.withWatermark("at", "1 hour").dropDuplicates(["user"])
        place = self.folder / checkpoint
        late = LateRows(None, lambda _, __: False)
        query = start(frame, self.sink, self.workspace, self.name, place, late)
        finish(query, self.name, Drain(), until_no_data=True)

    def forget_the_last_end(self) -> None:
        """Leave what a kill between the sink's commit and Spark's own leaves."""
        commits = self.folder / "checkpoint" / "commits"
        last = max(int(path.name) for path in commits.iterdir() if path.name.isdigit())
        (commits / str(last)).unlink()
        (commits / f".{last}.crc").unlink(missing_ok=True)

    def table(self) -> Counter[tuple[str, int, int]]:
        assert isinstance(self.sink, IcebergSink)
        # Committed by another session than the one that reads.
        self.spark.catalog.refreshTable(self.sink.identifier)
        rows = self.spark.table(self.sink.identifier).collect()
        return Counter((row["user"], row["version"], row["events"]) for row in rows)


@pytest.fixture
def query(
    spark: SparkSession, workspace: Workspace, unique: Callable[[str], str], tmp_path: Path
) -> Callable[..., Query]:
    def make(**sink: Any) -> Query:  # noqa: ANN401 - what the test says of its sink
        if "path" in sink:
            return Query(spark, workspace, tmp_path, JsonlSink(type="jsonl", **sink))
        target = {"catalog": "lake", "database": "sinks", "table": unique("t")}
        return Query(spark, workspace, tmp_path, IcebergSink(type="iceberg", **target, **sink))

    return make


def test_append_has_a_repeated_batch_once(query: Callable[..., Query]) -> None:
    appended = query(time_column="at", partition_by=("day(at)",))
    appended.put(("a", 1, 1), ("a", 1, 1))
    appended.put(("b", 1, 2))
    appended.forget_the_last_end()
    appended.run()
    assert appended.table() == {("a", 1, 1): 2, ("b", 1, 2): 1}
    appended.run("another-checkpoint")
    assert appended.table() == {("a", 1, 1): 4, ("b", 1, 2): 2}


def test_append_with_state_goes_on_after_a_repeated_batch(query: Callable[..., Query]) -> None:
    appended = query()
    appended.first_of_each_user = True
    appended.put(("a", 1, 1))
    appended.put(("b", 1, 1))
    appended.forget_the_last_end()
    appended.put(("a", 2, 2), ("b", 2, 2), ("c", 2, 2))
    assert appended.table() == {("a", 1, 1): 1, ("b", 1, 1): 1, ("c", 2, 2): 1}


def test_a_repeated_batch_moves_the_watermark_as_it_did(query: Callable[..., Query]) -> None:
    appended = query()
    appended.first_of_each_user = True
    appended.put(("a", 1, 1))
    moved = watermark_us(appended.folder / "checkpoint")
    appended.forget_the_last_end()
    appended.run()
    assert watermark_us(appended.folder / "checkpoint") == moved
    assert moved == 1_772_319_600_000_000


def test_upsert_keeps_one_row_a_key_and_the_newest(query: Callable[..., Query]) -> None:
    merged = query(mode="upsert", key=("user",), version="version")
    merged.put(("a", 1, 1), ("a", 3, 3), ("b", 1, 1))
    merged.put(("a", 2, 2), ("b", 2, 2), ("c", 1, 1))
    merged.forget_the_last_end()
    merged.run()
    assert merged.table() == {("a", 3, 3): 1, ("b", 2, 2): 1, ("c", 1, 1): 1}


def test_upsert_takes_away_what_is_deleted(query: Callable[..., Query]) -> None:
    merged = query(mode="upsert", key=("user",), version="version", deleted="gone")
    merged.put(("a", 1, 1), ("b", 1, 1), ("c", 1, 1), ("c", 2, 0), ("d", 2, 0), ("d", 1, 1))
    assert merged.table() == {("a", 1, 1): 1, ("b", 1, 1): 1}
    # One is deleted, one by a version that is behind; one comes back.
    merged.put(("a", 2, 0), ("b", 0, 0), ("c", 3, 3))
    merged.forget_the_last_end()
    merged.run()
    assert merged.table() == {("b", 1, 1): 1, ("c", 3, 3): 1}


def test_two_rows_of_a_key_in_a_batch_need_a_version(query: Callable[..., Query]) -> None:
    merged = query(mode="upsert", key=("user",))
    merged.put(("a", 1, 1), ("b", 1, 1))
    with pytest.raises(Terminal, match=r"batch 1 has 2 rows with the key user=a\n.*sink.version"):
        merged.put(("a", 1, 1), ("a", 2, 2))
    assert merged.table() == {("a", 1, 1): 1, ("b", 1, 1): 1}


def test_json_lines_has_a_repeated_batch_once_and_a_second_query_beside(
    query: Callable[..., Query], tmp_path: Path
) -> None:
    lines = query(path=str(tmp_path / "out"))
    lines.put(("a", 1, 1))
    lines.put(("b", 1, 2))
    lines.forget_the_last_end()
    lines.run()
    files = sorted((tmp_path / "out").glob("*"))
    written = [json.loads(line) for file in files for line in file.read_text().splitlines()]
    assert [row["user"] for row in written] == ["a", "b"]
    assert written[0]["at"] == "2026-03-01T00:00:00.000000Z"
    lines.run("another-checkpoint")
    assert len(list((tmp_path / "out").glob("*"))) == 2 * len(files)


@pytest.mark.parametrize(
    ("sink", "told"),
    [
        ({"time_column": "att"}, r"sink.time_column is att, but .*no such column\n.*\"at\""),
        ({"time_column": "user"}, "but that column has type string"),
        ({"mode": "upsert", "key": ("usr",)}, "sink.key is usr"),
        ({"mode": "upsert", "key": ("user",), "version": "v"}, "sink.version is v"),
    ],
)
def test_a_column_that_the_result_has_not_is_told_before_anything_runs(
    query: Callable[..., Query], sink: dict[str, Any], told: str
) -> None:
    (one := query(**sink)).folder.joinpath("in").mkdir()
    with pytest.raises(Terminal, match=told):
        one.run()


def test_a_table_of_other_columns_is_told(query: Callable[..., Query], spark: SparkSession) -> None:
    one = query()
    assert isinstance(one.sink, IcebergSink)
    spark.sql("CREATE NAMESPACE IF NOT EXISTS lake.sinks")
    spark.sql(f"CREATE TABLE {one.sink.identifier} (user string, events string) USING iceberg")
    with pytest.raises(
        Terminal, match="at is missing in the table and timestamp in the result; events is string"
    ):
        one.put(("a", 1, 1))


def test_a_session_that_began_before_the_period_is_left_out_whole(spark: SparkSession) -> None:
    rows = [("u", f"2026-03-01 00:{minute:02d}:00") for minute in (0, 20, 40, 59)]
    events = spark.createDataFrame(rows, "user string, t string").selectExpr(
        "user", "timestamp(t) AS t"
    )
    sessions = events.groupBy("user", F.session_window("t", "30 minutes")).count()
    result = sessions.selectExpr("user", "session_window.start AS started", "count")
    day = parse_period("2026-03-01", "2026-03-02")
    later_us = day.start_us + 10 * 60_000_000
    assert within(result, "started", later_us, day.end_us_exclusive).collect() == []
    (whole,) = within(result, "started", day.start_us, day.end_us_exclusive).collect()
    assert whole["count"] == 4


def test_a_topic_gets_each_row_at_least_once_under_its_key(
    spark: SparkSession, pipelines: Pipelines, unique: Callable[[str], str], tmp_path: Path
) -> None:
    topic = unique("results")
    sink = TopicOfResults(type="kafka", cluster="consumer", topic=topic, format="json", key="user")
    query = Query(spark, pipelines.workspace, tmp_path, sink)
    query.put(("a", 1, 1), ("b", 1, 2))
    query.put(("a", 2, 3))
    query.forget_the_last_end()
    query.run()
    seen = Counter(
        (one.key, json.loads(one.value or b"")["events"]) for one in pipelines.seen(topic)
    )
    assert seen == {(b"a", 1): 1, (b"b", 2): 1, (b"a", 3): 2}
