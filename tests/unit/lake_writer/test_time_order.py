"""Rows in the order of their time: all of them, and a bounded number at once."""

from __future__ import annotations

import random

import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from lake_writer.time_order import TimeOrder

METADATA = pa.struct(
    [
        ("kafka_ingestion_ts", pa.timestamp("us", tz="UTC")),
        ("partition", pa.int32()),
        ("offset", pa.int64()),
    ]
)


def batch(partition: int, first: int, times: list[int]) -> pa.RecordBatch:
    rows = [
        {"kafka_ingestion_ts": at, "partition": partition, "offset": first + number}
        for number, at in enumerate(times)
    ]
    return pa.record_batch({"__metadata__": pa.array(rows, METADATA)})


def shown(rows: pa.Table) -> list[tuple[int, int, int]]:
    columns = rows.column("__metadata__").combine_chunks().flatten()
    times, partitions, offsets = (one.cast(pa.int64()).to_pylist() for one in columns)
    return list(zip(times, partitions, offsets, strict=True))


@settings(deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 2), st.lists(st.integers(0, 50), min_size=1)), max_size=12),
    st.integers(1, 600),
)
def test_each_row_goes_once_and_in_order(
    batches: list[tuple[int, list[int]]], held_bytes: int
) -> None:
    order = TimeOrder(held_bytes)
    nexts, given_rows, out = [0, 0, 0], [], []
    for partition, times in batches:
        rows = batch(partition, nexts[partition], times)
        nexts[partition] += len(times)
        given_rows += shown(pa.Table.from_batches([rows]))
        out += [shown(one) for one in order.add(partition, max(times), rows)]
    out += [shown(one) for one in order.rest()]
    assert all(one == sorted(one) for one in out)
    assert sorted(row for one in out for row in one) == sorted(given_rows)


def test_partitions_that_advance_together_stay_in_order_throughout() -> None:
    chance, order = random.Random(7), TimeOrder(4_000)
    out: list[tuple[int, int, int]] = []
    tables = 0
    for step in range(200):
        for partition in (0, 1, 2):
            times = sorted(chance.randrange(step * 100, step * 100 + 100) for _ in range(10))
            for rows in order.add(partition, times[-1], batch(partition, step * 10, times)):
                out += shown(rows)
                tables += 1
    for rows in order.rest():
        out += shown(rows)
    assert tables > 20
    assert len(out) == 6_000
    assert out == sorted(out)
