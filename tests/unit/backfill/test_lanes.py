"""Kafka partitions in Arrow: filtered, put in order, and measured, against plain Python."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from backfill.plan.units import OffsetRange
from backfill.read.step_records import OffsetFilter, in_order
from backfill.run.measurements import OrderMeter, TaskMeter, file_of, totals
from headrace.contract import INGESTION_TS

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

Place = tuple[str, int, int]
METADATA = pa.struct(
    [
        ("kafka_ingestion_ts", pa.timestamp("us", tz="UTC")),
        ("topic", pa.string()),
        ("partition", pa.int32()),
        ("offset", pa.int64()),
        ("region", pa.string()),
    ]
)
places = st.lists(
    st.tuples(st.sampled_from(["a", "b"]), st.integers(0, 3), st.integers(0, 20)), max_size=30
)
ranges = st.lists(
    st.builds(
        lambda topic, partition, first, width: OffsetRange(
            "t", topic, partition, first, first + width
        ),
        st.sampled_from(["a", "b", "c"]),
        st.integers(0, 5),
        st.integers(0, 20),
        st.integers(1, 10),
    ),
    unique_by=lambda one: (one.topic, one.partition),
    max_size=6,
)


def batch_of(held: Sequence[Place], time_us: int = 0) -> pa.RecordBatch:
    rows = [
        {
            "kafka_ingestion_ts": time_us,
            "topic": topic,
            "partition": partition,
            "offset": offset,
            "region": None,
        }
        for topic, partition, offset in held
    ]
    return pa.RecordBatch.from_pydict({"__metadata__": pa.array(rows, METADATA)})


def places_of(batches: Sequence[pa.RecordBatch]) -> list[Place]:
    return [
        (row["topic"], row["partition"], row["offset"])
        for batch in batches
        for row in batch.column("__metadata__").to_pylist()
    ]


@given(places, ranges)
@settings(deadline=None)
def test_a_filter_keeps_what_lies_in_a_range(held: list[Place], asked: list[OffsetRange]) -> None:
    batch = batch_of(held)
    kept = batch.filter(OffsetFilter(asked).mask(batch))
    assert places_of([kept]) == [
        (topic, partition, offset)
        for topic, partition, offset in held
        if any(
            (one.topic, one.partition) == (topic, partition)
            and one.first <= offset < one.end_exclusive
            for one in asked
        )
    ]


@given(st.lists(places, max_size=4))
@settings(deadline=None)
def test_records_are_put_in_the_order_of_their_offsets(held: list[list[Place]]) -> None:
    ordered = places_of(list(in_order([batch_of(one) for one in held])))
    assert ordered == sorted(place for one in held for place in one)


@given(st.lists(places, max_size=4))
@settings(deadline=None)
def test_a_meter_sees_whether_they_are(held: list[list[Place]]) -> None:
    meter, last, wrong = OrderMeter(), dict[tuple[str, int], int](), False
    for one in held:
        meter.see("t", batch_of(one))
        for topic, partition, offset in one:
            wrong |= offset < last.get((topic, partition), offset)
            last[topic, partition] = offset
    assert bool(meter.out_of_order) == wrong


def test_what_tasks_saw_is_put_together_and_a_second_attempt_counts_once(tmp_path: Path) -> None:
    def task(step: int, place: tuple[int, int], held: list[Place], time_us: int) -> None:
        meter = TaskMeter("lake.t", INGESTION_TS, offsets=True)
        assert list(meter.through(iter([batch_of(held, time_us)])))
        meter.store(file_of(tmp_path, step, "lake.t", *place))

    task(0, (0, 2), [("a", 0, 1), ("a", 0, 2)], 100)
    task(0, (1, 2), [("a", 1, 1)], 90)
    task(0, (0, 3), [("a", 0, 1)], 100)
    task(1, (0, 1), [("a", 0, 3)], 80)
    task(2, (0, 1), [("a", 1, 0)], 200)
    found = totals(tmp_path, 2)
    assert found.rows == {"lake.t": 4}
    assert found.max_disorder_us == 20
    assert found.out_of_order == 0
    assert totals(tmp_path, 3).out_of_order == 1
