"""What the tasks of a replay measure, kept by several at once and by a process that is killed."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import pyarrow as pa

from backfill.run.measurements import TaskMeter, file_of, totals
from headrace.contract import INGESTION_TS, METADATA

if TYPE_CHECKING:
    from pathlib import Path

TABLE = "lake.a.b"
TIMES = pa.array([10, 20, 30], pa.timestamp("us", tz="UTC"))


def meter_of_three() -> TaskMeter:
    meter = TaskMeter(TABLE, INGESTION_TS, offsets=False)
    times = pa.StructArray.from_arrays([TIMES], names=["kafka_ingestion_ts"])
    batch = pa.RecordBatch.from_pydict({METADATA: times})
    assert [one.num_rows for one in meter.through(iter([batch]))] == [3]
    return meter


def test_both_readers_of_a_self_join_keep_what_they_saw(tmp_path: Path) -> None:
    path = file_of(tmp_path, 0, TABLE, 0, 1)
    problems: list[BaseException] = []
    begin = threading.Barrier(2, timeout=30)

    def read() -> None:
        meter = meter_of_three()
        try:
            for _ in range(200):
                begin.wait()
                meter.store(path)
        except BaseException as problem:  # noqa: BLE001 - a thread's error is looked at below
            problems.append(problem)
            begin.abort()

    readers = [threading.Thread(target=read) for _ in range(2)]
    for one in readers:
        one.start()
    for one in readers:
        one.join()
    assert problems == []
    assert totals(tmp_path, 1).rows == {TABLE: 3}
