"""Records ahead of their arrival, against the rule one row at a time."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headrace.application.ahead_of_time import Ahead, hold_back
from headrace.contract import INGESTION_TS, METADATA, with_metadata
from headrace.errors import Terminal
from headrace.records.arrow import times_of
from headrace.schema.arrow import for_spark, to_arrow
from headrace.schema.model import Field, Primitive, Record

if TYPE_CHECKING:
    from headrace.config.app.file import OnAhead

SCHEMA = for_spark(
    to_arrow(
        with_metadata(
            Record(
                "t",
                (
                    Field("id", Primitive.LONG, nullable=False),
                    Field("at", Primitive.TIMESTAMP_MICROS, nullable=True),
                ),
            )
        )
    )
)
LIMIT_US = 600_000_000
FIRST, LAST = dt.datetime(1, 1, 1), dt.datetime(9999, 12, 31, 23)  # noqa: DTZ001 - hypothesis adds the zone
TIMES = st.datetimes(FIRST, LAST, timezones=st.just(dt.UTC))


def batch_of(times: list[tuple[dt.datetime | None, dt.datetime]]) -> pa.RecordBatch:
    rows = [
        {
            "id": number,
            "at": at,
            METADATA: {
                "kafka_ingestion_ts": arrived,
                "topic": "t",
                "partition": 0,
                "offset": number,
                "region": None,
            },
        }
        for number, (at, arrived) in enumerate(times)
    ]
    return pa.RecordBatch.from_pylist(rows, schema=SCHEMA)


@settings(deadline=None)  # the first call loads Arrow's functions
@given(st.lists(st.tuples(st.none() | TIMES, TIMES)), st.sampled_from(["quarantine", "clamp"]))
def test_each_row_by_itself(
    times: list[tuple[dt.datetime | None, dt.datetime]], action: OnAhead
) -> None:
    batch = batch_of(times)
    held = hold_back(batch, Ahead("AT", LIMIT_US, action), times_of(batch, INGESTION_TS))
    limit = dt.timedelta(microseconds=LIMIT_US)
    expected: list[dict[str, Any]] = []
    over = []
    for row in batch.to_pylist():
        furthest = row[METADATA]["kafka_ingestion_ts"] + limit
        if row["at"] is None or row["at"] <= furthest:
            expected.append(row)
            continue
        over.append(row["id"])
        if action == "clamp":
            expected.append(row | {"at": furthest})
    assert held.batch.to_pylist() == expected
    assert list(held.rows) == over
    assert held.batch.schema.equals(SCHEMA)


@pytest.mark.parametrize("excess_us", [0, 1])
def test_the_limit_itself_is_not_ahead(excess_us: int) -> None:
    arrived = dt.datetime(2026, 3, 1, tzinfo=dt.UTC)
    at = arrived + dt.timedelta(microseconds=LIMIT_US + excess_us)
    batch = batch_of([(at, arrived)])
    held = hold_back(batch, Ahead("at", LIMIT_US, "drop"), times_of(batch, INGESTION_TS))
    assert held.batch.num_rows == 1 - excess_us


@pytest.mark.parametrize("column", ["nothing", "id"])
def test_a_column_that_is_no_time_is_told(column: str) -> None:
    batch = batch_of([])
    with pytest.raises(Terminal, match=f"max_ahead is for {column}"):
        hold_back(batch, Ahead(column, 1, "drop"), times_of(batch, INGESTION_TS))


def test_it_goes_through_json() -> None:
    ahead = Ahead("a b", 1, "clamp")
    assert Ahead.of_options({"ahead": ahead.to_json()}) == ahead
