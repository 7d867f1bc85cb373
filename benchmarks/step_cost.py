"""`python -m benchmarks.step_cost`: what a step of a replay in Spark costs, however little it holds.

A table of tiny files becomes steps of a few rows each. What is printed is of the later half of
them, by which time the JVM knows its way: medians of Spark's own account of a batch, in
milliseconds, and the CPU-seconds of all processes.
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psutil
import pyarrow as pa

from backfill.streams import Replay
from benchmarks.many_files import EVENT
from benchmarks.planning import WORKSPACE
from headrace.config.load import load_workspace
from headrace.contract import with_metadata
from headrace.iceberg.catalog import open_catalog
from headrace.schema.arrow import to_arrow
from headrace.schema.iceberg import to_iceberg
from headrace.spark import session

if TYPE_CHECKING:
    from pyspark.sql.streaming.query import StreamingQuery

    from headrace.config.workspace.workspace import Workspace

START = datetime(2026, 3, 1, tzinfo=UTC)
ROWS = 20
APART_S = 100


def main() -> None:
    """Make the table, replay it into nothing, and print what a step took."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=300)
    steps = parser.parse_args().steps
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "headrace.yaml").write_text(WORKSPACE, encoding="utf-8")
        workspace = load_workspace(Path(folder))
        make_table(workspace, steps)
        print(json.dumps(replayed(workspace, steps)))


def make_table(workspace: Workspace, files: int) -> None:
    """Write so many files of a few rows, a while apart."""
    columns = with_metadata(EVENT)
    schema, properties = to_iceberg(columns)
    catalog = open_catalog(workspace.catalog("lake"))
    catalog.create_namespace("steps")
    table = catalog.create_table(("steps", "tiny"), schema, properties=properties)
    for number in range(files):
        begin = START + timedelta(seconds=number * APART_S)
        rows = [
            {
                "event_id": f"{number}-{row}",
                "__metadata__": {
                    "kafka_ingestion_ts": begin + timedelta(seconds=row),
                    "topic": "events",
                    "partition": 0,
                    "offset": number * ROWS + row,
                },
            }
            for row in range(ROWS)
        ]
        table.append(pa.Table.from_pylist(rows, schema=to_arrow(columns)))


def replayed(workspace: Workspace, steps: int) -> dict[str, Any]:
    """Replay the table; return the figures of the later half of its steps."""
    end = (START + timedelta(days=365)).isoformat()
    replay = Replay(
        ["lake.steps.tiny"],
        START.isoformat(),
        end,
        max_misalignment=f"{APART_S // 2}s",
        workspace=workspace.root,
    )
    with session(workspace, "steps") as spark:
        (stream,) = replay.streams(spark, "steps").values()
        place = str(workspace.state_dir / "checkpoint")
        query = stream.writeStream.format("noop").option("checkpointLocation", place).start()
        half = steps // 2
        while done(query) < half:
            time.sleep(0.05)
        first, cpu_s, began_s = done(query), all_cpu_s(), time.monotonic()
        query.processAllAvailable()
        passed_s, used_s = time.monotonic() - began_s, all_cpu_s() - cpu_s
        batches = [json.loads(one.json) for one in query.recentProgress]
        query.stop()
    later = [one["durationMs"] for one in batches if one["numInputRows"] and one["batchId"] > first]
    return {
        "steps": len(later),
        "wall_ms": round(1000 * passed_s / len(later)),
        "cpu_ms": round(1000 * used_s / len(later)),
        **{
            name: statistics.median(one.get(name, 0) for one in later)
            for name in sorted({name for one in later for name in one})
        },
    }


def done(query: StreamingQuery) -> int:
    """Return the last batch that a query is through with."""
    problem = query.exception()
    if problem is not None:
        raise problem
    progress = query.lastProgress
    return -1 if progress is None else int(progress.batchId)


def all_cpu_s() -> float:
    """Return the CPU time of this process and of all that it has started, so far."""
    me, used_s = psutil.Process(), 0.0
    for process in (me, *me.children(recursive=True)):
        times = process.cpu_times()
        used_s += times.user + times.system
    return used_s


if __name__ == "__main__":
    main()
