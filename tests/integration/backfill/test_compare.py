"""Two tables held against each other, by Spark and by an oracle of a few lines."""

from __future__ import annotations

import random
import re
from collections import Counter
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest

from backfill.plan.period import parse_period
from backfill.results.compare import CompareOptions, compare
from backfill.results.comparison import MismatchKind
from backfill.results.late import late_records
from headrace.config.load import load_app
from headrace.errors import Terminal, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pyspark.sql import DataFrame, SparkSession

    from backfill.results.comparison import Comparison
    from tests.integration.pipelines import Pipelines

DAY = datetime(2026, 3, 1, tzinfo=UTC)
SCHEMA = "user string, at timestamp, events int, tags map<string, int>"
Row = tuple[str | None, datetime, int | None, dict[str, int] | None]


def at(minute: float) -> datetime:
    return DAY + timedelta(minutes=minute)


KEY = CompareOptions(("user", "at"))


def compared(
    spark: SparkSession, left: Sequence[Row], right: Sequence[Row], wish: CompareOptions = KEY
) -> Comparison:
    def frame(rows: Sequence[Row]) -> DataFrame:
        return spark.createDataFrame(list(rows), SCHEMA)

    return compare(("left", frame(left)), ("right", frame(right)), wish)


def test_each_mismatch_has_its_kind_and_its_example(spark: SparkSession) -> None:
    same: list[Row] = [(f"u{n}", at(n), n, {"a": n, "b": 1}) for n in range(50)]
    nothing: Row = (None, at(0), None, None)
    left = [*same, nothing, ("gone", at(1), 1, None), ("other", at(2), 1, None)]
    right = [*same, nothing, ("new", at(3), 1, None), ("other", at(2), 2, {"a": 1}), same[7]]
    found = compared(spark, left, right)
    assert found.matched == 51
    assert found.mismatches == {
        MismatchKind.MISSING: 1,
        MismatchKind.EXTRA: 1,
        MismatchKind.DIFFERING: 1,
        MismatchKind.REPEATED: 1,
    }
    assert found.differing_columns == {"events": 1, "tags": 1}
    assert (found.left.repeated_keys, found.right.repeated_keys) == (0, 1)
    by_kind = {one.kind: one for one in found.examples}
    assert by_kind[MismatchKind.MISSING].key == {
        "user": "gone",
        "at": "2026-03-01T00:01:00.000000Z",
    }
    assert by_kind[MismatchKind.MISSING].right is None
    assert by_kind[MismatchKind.DIFFERING].left == {"events": 1, "tags": None}
    assert by_kind[MismatchKind.DIFFERING].right == {"events": 2, "tags": {"a": 1}}
    assert by_kind[MismatchKind.REPEATED].right == {"events": 7, "tags": {"a": 7, "b": 1}}


def test_the_period_leaves_rows_out_and_its_ends_are_a_kind(spark: SparkSession) -> None:
    period = parse_period("2026-03-01T01:00", "2026-03-01T02:00")
    left: list[Row] = [("u", at(minute), 1, None) for minute in (59.9, 60, 90, 119, 120)]
    right: list[Row] = [("u", at(minute), 1, None) for minute in (90, 60.5, 200)]
    wish = CompareOptions(("user", "at"), ("tags",), "at", period, 60_000_000)
    found = compared(spark, left, right, wish)
    assert found.matched == 1
    assert found.mismatches == {MismatchKind.BOUNDARY: 3}
    assert found.match_percent_inside == 100


def test_against_an_oracle(spark: SparkSession) -> None:
    chance = random.Random(11)
    whole: list[Row] = [
        (f"u{chance.randrange(40)}", at(chance.randrange(3)), chance.randrange(2), None)
        for _ in range(300)
    ]
    left, right = whole[:200], whole[60:]
    kinds: Counter[MismatchKind] = Counter()
    matched = 0
    for key in {row[:2] for row in whole}:
        ours, theirs = (Counter(row for row in side if row[:2] == key) for side in (left, right))
        alone, others = (ours - theirs).total(), (theirs - ours).total()
        matched += (ours & theirs).total()
        kinds[MismatchKind.DIFFERING] += min(alone, others)
        kind = (
            MismatchKind.MISSING
            if not theirs
            else MismatchKind.EXTRA
            if not ours
            else MismatchKind.REPEATED
        )
        kinds[kind] += abs(alone - others)
    found = compared(spark, left, right)
    assert found.matched == matched
    assert found.mismatches == +kinds
    assert len(found.examples) <= 3 * len(MismatchKind)


def test_what_cannot_be_compared_is_told_by_its_column(spark: SparkSession) -> None:
    frame = spark.createDataFrame([("u", 1)], "user string, events int")
    wider = spark.createDataFrame([("u", 1)], "user string, events long")
    with pytest.raises(UsageError, match=r"table a has no column usr\n.*user"):
        compare(("a", frame), ("b", frame), CompareOptions(("usr",)))
    with pytest.raises(UsageError, match="neither table has it"):
        compare(("a", frame), ("b", frame), CompareOptions(("user",), ("event",)))
    with pytest.raises(Terminal, match="events is int in a and bigint in b"):
        compare(("a", frame), ("b", wider), CompareOptions(("user",)))
    assert compare(("a", frame), ("b", wider), CompareOptions(("user",), ("events",))).matched == 1
    with pytest.raises(Terminal, match="neither a nor b has rows"):
        compare(("a", frame.limit(0)), ("b", frame.limit(0)), CompareOptions(("user",)))


def test_what_came_after_the_watermark_explains_a_mismatch(
    spark: SparkSession, pipelines: Pipelines, unique: Callable[[str], str]
) -> None:
    name = unique("late")
    source = f"lake.compared.{name}"
    spark.sql("CREATE NAMESPACE IF NOT EXISTS lake.compared")
    # An event a minute, on its way for a second; one of minute 20 comes in minute 50.
    rows: list[tuple[str | None, datetime, datetime]] = [
        ("u", at(n), at(n) + timedelta(seconds=1)) for n in range(60)
    ]
    rows.append(("slow", at(20), at(50)))
    # No replay of the day has read what came two days later; of whom this is, nobody knows.
    rows += [("slower", at(30), at(3 * 24 * 60)), (None, at(22), at(51))]
    frame = spark.createDataFrame(rows, "user string, event_ts timestamp, arrived timestamp")
    struct = "named_struct('kafka_ingestion_ts', arrived) AS __metadata__"
    frame.selectExpr("user", "event_ts", struct).writeTo(source).create()
    past = {"type": "iceberg", "catalog": "lake", "database": "compared", "table": name}
    path = pipelines.write(
        f"apps/{name}.yaml",
        {
            "kind": "app",
            "name": name,
            "sources": {"events": past},
            "transform": {"sql": "SELECT * FROM events"},
            "watermarks": {"events": {"column": "event_ts", "delay": "10min"}},
            "sink": {"type": "jsonl", "path": "out"},
        },
    )
    app, period = load_app(path, pipelines.workspace), parse_period("2026-03-01", "2026-03-02")
    late = late_records(spark, app, period, KEY.key)
    assert late is not None
    assert sorted((row["late_us"], str(row["user"]["value"])) for row in late.collect()) == [
        (period.start_us + 20 * 60_000_000, "slow"),
        (period.start_us + 22 * 60_000_000, "None"),
    ]
    # Iceberg is told of which time it is to read.
    scan = late._jdf.queryExecution().executedPlan().toString()  # noqa: SLF001 - Python has no name for it
    assert re.search(r"filters=[^\n]*kafka_ingestion_ts >=[^\n]*kafka_ingestion_ts <", scan), scan
    same: list[Row] = [("u", at(600), 1, None)]
    left = [*same, ("slow", at(21), 1, None), ("other", at(20), 1, None)]
    right = [*same, ("slow", at(21), 2, None), ("slow", at(400), 2, None)]
    wish = CompareOptions(KEY.key, (), "at", period, 5 * 60_000_000, late=late)
    assert compared(spark, left, right, wish).mismatches == {
        MismatchKind.LATE: 1,
        MismatchKind.MISSING: 1,
        MismatchKind.EXTRA: 1,
    }
    # By a key of which the records say nothing, none of them explains the rows nearby.
    assert late_records(spark, app, period, ("at",)) is None
