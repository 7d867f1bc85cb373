"""What Spark's plan tells of a query: where a replay may differ from live, and how far it looks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from pyspark.sql import functions as F  # noqa: N812 - as everybody names it
from pyspark.sql.streaming.stateful_processor import StatefulProcessor

from backfill.apps.emission import reach_of
from backfill.apps.live_differences import KINDS, differences_in
from backfill.apps.spark_source import NAME, ReplaySource

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pyspark.sql import DataFrame, SparkSession

MINUTE_US = 60_000_000
HOUR_US = 60 * MINUTE_US
SCHEMA = "id long, kind string, at timestamp, amount double"


class Nothing(StatefulProcessor):
    """Keeps nothing and gives nothing: only its plan is looked at."""

    def init(self, handle: object) -> None:
        pass

    def handleInputRows(  # noqa: N802 - Spark's name
        self,
        key: object,  # noqa: ARG002 - Spark gives it
        rows: object,  # noqa: ARG002 - as above
        timerValues: object,  # noqa: ARG002, N803 - as above
    ) -> Iterator[Any]:
        return iter(())

    def close(self) -> None:
        pass


@pytest.fixture
def events(spark: SparkSession) -> DataFrame:
    """A table as a replay reads it, with the watermark of the application's file."""
    spark.dataSource.register(ReplaySource)
    reader = spark.readStream.format(NAME).schema(SCHEMA).option("table", "lake.tv.events")
    return reader.load().withWatermark("at", "10 minutes")


def stateful(events: DataFrame, mode: str) -> DataFrame:
    return events.groupBy("kind").transformWithStateInPandas(Nothing(), "n long", "append", mode)


def paired(events: DataFrame, how: str) -> DataFrame:
    other = events.select(F.col("id").alias("other"), F.col("at").alias("then"))
    return events.join(other, F.expr("id = other AND then < at + INTERVAL 1 HOUR"), how)


def by_minute(events: DataFrame) -> Any:  # noqa: ANN401 - what is grouped has no public type
    return events.groupBy(F.window("at", "1 minute"))


BY_WINDOW = {"late_records", "open_at_the_end"}
QUERIES: dict[str, tuple[Callable[[DataFrame], DataFrame], set[str]]] = {
    "nothing": (lambda e: e.select("id", F.upper("kind")), set()),
    "count": (lambda e: by_minute(e).count(), BY_WINDOW),
    "session": (
        lambda e: e.groupBy(F.session_window("at", "5 minutes")).count(),
        {*BY_WINDOW, "sessions"},
    ),
    "first": (lambda e: by_minute(e).agg(F.first("kind")), {*BY_WINDOW, "order_of_arrival"}),
    "list": (
        lambda e: by_minute(e).agg(F.size(F.collect_list("id"))),
        {*BY_WINDOW, "order_of_arrival"},
    ),
    "any": (lambda e: by_minute(e).agg(F.any_value("id")), {*BY_WINDOW, "order_of_arrival"}),
    "newest": (lambda e: by_minute(e).agg(F.max_by("kind", "at")), BY_WINDOW),
    "float": (lambda e: by_minute(e).agg(F.sum("amount")), {*BY_WINDOW, "floating_point"}),
    "whole": (lambda e: by_minute(e).agg(F.sum("id")), BY_WINDOW),
    "distinct": (lambda e: e.dropDuplicates(["id", "at"]), {"late_records"}),
    "ever": (lambda e: e.dropDuplicates(["id"]), {"deduplication_from_the_start"}),
    "within": (lambda e: e.dropDuplicatesWithinWatermark(["id"]), {"wider_deduplication"}),
    "inner": (lambda e: paired(e, "inner"), {"late_records", "join"}),
    "left": (lambda e: paired(e, "left"), {*BY_WINDOW, "join", "outer_join"}),
    "static": (lambda e: e.join(e.sparkSession.range(3), "id", "left"), set()),
    "timers": (
        lambda e: stateful(e, "eventTime"),
        {*BY_WINDOW, "timers", "order_of_arrival"},
    ),
    "clock": (
        lambda e: stateful(e, "processingTime"),
        {"processing_time", "order_of_arrival"},
    ),
    "now": (lambda e: e.where("at > current_timestamp() - INTERVAL 1 DAY"), {"processing_time"}),
    "today": (lambda e: e.select(F.unix_timestamp(), F.current_date()), {"processing_time"}),
    "rand": (lambda e: e.where(F.rand() < 0.5), {"random"}),
    "uuid": (lambda e: e.selectExpr("uuid()", "id"), {"random"}),
    "udf": (
        lambda e: e.select(F.udf(lambda number: f"{number}", "string").asNondeterministic()("id")),
        {"random"},
    ),
    "limit": (lambda e: e.limit(3), {"limit"}),
    "own": (
        lambda e: e.withColumn("own", F.col("at")).withWatermark("own", "1 minute"),
        {"own_watermark"},
    ),
    "source": (
        lambda e: e.sparkSession.readStream.format("rate").load().union(e.select("at", "id")),
        {"own_source"},
    ),
}


@pytest.mark.parametrize("name", QUERIES)
def test_a_plan_names_what_may_differ_from_live(events: DataFrame, name: str) -> None:
    build, wanted = QUERIES[name]
    assert {one.kind for one in differences_in(build(events), [events])} == wanted


def test_it_is_said_where_and_what_to_do(events: DataFrame) -> None:
    query = by_minute(events.withWatermark("at", "1 minute")).agg(F.first("kind").alias("one"))
    found = differences_in(query, [events])
    assert [one.kind for one in found] == sorted((one.kind for one in found), key=KINDS.index)
    places = {one.kind: one.where for one in found}
    assert places["order_of_arrival"] == "first(kind)"
    assert places["own_watermark"] == "withWatermark(at, 1 minutes)"
    assert places["late_records"] == "GROUP BY window"
    (own,) = (one.to_json() for one in found if one.kind == "own_watermark")
    assert own["kind"] == "own_watermark"
    assert "put it under watermarks" in own["what_to_do"]


@pytest.mark.parametrize(
    ("build", "longest_us"),
    [
        (lambda e: e.select("at", "kind"), 0),
        (lambda e: e.groupBy(F.window("at", "1 hour", "5 minutes")).count(), HOUR_US),
        (lambda e: e.groupBy(F.window("at", "1 day", "1 day", "7 hours")).count(), 24 * HOUR_US),
        (lambda e: e.groupBy(F.session_window("at", "90 minutes")).count(), 90 * MINUTE_US),
        (lambda e: paired(e, "inner"), HOUR_US),
        (
            lambda e: e.selectExpr("at + INTERVAL '1 02:00:00.5' DAY TO SECOND"),
            26 * HOUR_US + 500_000,
        ),
        (
            lambda e: e.selectExpr("at - make_dt_interval(0, 0, 1)", "at + INTERVAL '90' SECOND"),
            90_000_000,
        ),
    ],
)
def test_the_longest_time_of_a_plan(
    events: DataFrame, build: Callable[[DataFrame], DataFrame], longest_us: int
) -> None:
    reach = reach_of(build(events))
    assert (reach.longest_us, reach.has_own_state) == (longest_us, False)


def test_state_of_its_own_is_seen(events: DataFrame) -> None:
    assert reach_of(stateful(events, "none")).has_own_state
