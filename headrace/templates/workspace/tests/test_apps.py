"""The applications over recorded records. The tests take seconds and need no Kafka or table."""

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from headrace.testing import run_app, spark_for_tests
from pyspark.sql import SparkSession

ROOT = Path(__file__).resolve().parents[1]
RECORDS = ROOT / "records" / "starts.jsonl"
STARTS = [json.loads(line)["value"] for line in RECORDS.read_text().splitlines()]


@pytest.fixture(scope="module")
def spark() -> Iterator[SparkSession]:
    with spark_for_tests() as session:
        yield session


def test_starts_are_counted_by_country(spark: SparkSession) -> None:
    rows = run_app(spark, ROOT / "apps" / "starts_by_country.yaml", {"starts": RECORDS})
    counted: Counter[str] = Counter()
    for row in rows:
        counted[row["country"]] += row["starts"]
    assert counted == Counter(start["country"] for start in STARTS)


def test_starts_are_counted_by_daypart(spark: SparkSession) -> None:
    rows = run_app(spark, ROOT / "apps" / "starts_by_daypart.yaml", {"starts": RECORDS})
    assert {row["daypart"] for row in rows} <= {"night", "prime time"}
    assert sum(row["starts"] for row in rows) == len(STARTS)


def test_every_start_is_in_one_session(spark: SparkSession) -> None:
    rows = run_app(spark, ROOT / "apps" / "sessions.yaml", {"starts": RECORDS})
    assert sum(row["starts"] for row in rows) == len(STARTS)
    assert {row["user_id"] for row in rows} == {start["user_id"] for start in STARTS}
