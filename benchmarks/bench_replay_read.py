"""The replay as a reader: the three orders, Spark's own stream and the limit, into nowhere."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from benchmarks.checks import require
from benchmarks.events import END_EXCLUSIVE, SPAN, START
from benchmarks.flink import Job, flink_command
from benchmarks.model import Benchmark, Competitor, Run
from benchmarks.peer import checkpoint_work_s, peer_command, said, said_work_s, spark_settings
from benchmarks.replay_tables import home, make_event_table, table_of
from headrace.config.load import load_workspace
from headrace.contract import INGESTION_TS
from headrace.iceberg.catalog import load_table

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from benchmarks.arena import Arena
    from benchmarks.measure import Measured
    from benchmarks.replay_tables import Layout

# What is delivered. For their order, and the walk always, readers read times beside them.
THREE = ("event_id", "user_id", "position_ms")
# The part of all time that the threshold holds: 2 million, and 300,000 rows of 10 million.
WIDE, NARROW = 0.2, 0.03


@dataclass(frozen=True, slots=True)
class Reading:
    """What is read how. Without an order it is Spark's own stream."""

    order: str = ""
    window: float = WIDE
    layout: Layout = "fresh"
    columns: tuple[str, ...] = ()
    tables: int = 1

    def settings(self, arena: Arena) -> dict[str, object]:
        """Return what a peer is told of it."""
        return {
            "tables": self.names,
            "order": self.order,
            "threshold": f"{self.window_s}s",
            "columns": self.columns,
            "start": START.isoformat(),
            "end": END_EXCLUSIVE.isoformat(),
            "workspace": str(home(arena)),
        }

    @property
    def window_s(self) -> int:
        """How much time the threshold holds."""
        return round(SPAN.total_seconds() * self.window)

    @property
    def names(self) -> list[str]:
        """The tables."""
        return [table_of(self.layout, number) for number in range(self.tables)]


def in_spark(reading: Reading, arena: Arena, folder: Path) -> Run:
    """Prepare a stream of Spark."""
    checkpoint = folder / "checkpoint"
    settings = {
        **reading.settings(arena),
        "run": folder.name,
        "checkpoint": str(checkpoint),
        "spark": spark_settings(home(arena), folder.name),
    }
    return Run(
        peer_command("spark_noop", settings, folder),
        check=partial(_all_rows, reading, arena),
        work_s=lambda _: checkpoint_work_s([checkpoint]),
        clean_up=lambda: None,
        facts=lambda measured: {"micro-batches": said(measured)["batches"]},
    )


def as_arrow(reading: Reading, arena: Arena, folder: Path) -> Run:
    """Prepare the walk without Spark."""
    return Run(
        peer_command("arrow_walk", reading.settings(arena), folder),
        check=partial(_all_rows, reading, arena),
        work_s=said_work_s,
        clean_up=lambda: None,
    )


def decoded(reading: Reading, arena: Arena, folder: Path) -> Run:
    """Prepare the limit: decoding alone, in any order."""
    workspace = load_workspace(home(arena))
    files = [
        urlsplit(task.file.file_path).path
        for name in reading.names
        for task in load_table(workspace, name).scan().plan_files()
    ]
    settings: dict[str, object] = {"files": files}
    if reading.columns:
        settings["columns"] = [*reading.columns, INGESTION_TS]
    return Run(
        peer_command("arrow_scan", settings, folder),
        check=partial(_all_rows, reading, arena),
        work_s=said_work_s,
        clean_up=lambda: None,
    )


def in_flink(reading: Reading, arena: Arena, folder: Path) -> Run:
    """Prepare the talks' engine: files by the times in them, two tables aligned."""
    aligned = reading.tables > 1
    job = Job(reading.names, reading.columns, reading.window_s if aligned else None)
    return Run(
        flink_command(arena, folder, home(arena), job),
        check=partial(_all_rows, reading, arena),
        work_s=said_work_s,
        clean_up=lambda: None,
    )


def _all_rows(reading: Reading, arena: Arena, measured: Measured) -> None:
    each = make_event_table(arena, reading.layout)
    require("rows", int(said(measured).get("rows", 0)), reading.tables * each)


def _competitor(
    name: str, what: str, prepare: Callable[[Reading, Arena, Path], Run], reading: Reading
) -> Competitor:
    return Competitor(name, what, "cold", partial(prepare, reading))


def _made(tables: int, *layouts: Layout) -> Callable[[Arena], int]:
    """Return what makes the tables in all layouts, and says how many rows one run reads."""

    def load(arena: Arena) -> int:
        made = [
            make_event_table(arena, layout, number)
            for layout in layouts
            for number in range(tables)
        ]
        return sum(made[:tables])

    return load


SPARK, LIMIT = "Spark's Iceberg stream", "pyarrow decode"
OTHERS = (
    (SPARK, "unordered, 32 MiB splits", in_spark, ""),
    ("Flink", "Iceberg's source, its files by their times, objects reused", in_flink, ""),
    ("Arrow walk", "bounded, one Python process", as_arrow, "bounded"),
    (LIMIT, "two threads, unordered", decoded, ""),
)

REPLAY_READ = Benchmark(
    name="replay-read",
    title="an Iceberg table of 80 files read again, all columns",
    baseline=SPARK,
    limit=LIMIT,
    competitors=(
        _competitor("bounded", "a window of 1/5 of all rows", in_spark, Reading("bounded")),
        _competitor(
            "bounded, narrow", "a window of 3/100", in_spark, Reading("bounded", window=NARROW)
        ),
        _competitor("any", "file by file", in_spark, Reading("any")),
        _competitor("strict", "by offsets, a window of 1/5", in_spark, Reading("strict")),
        *(_competitor(name, what, how, Reading(order)) for name, what, how, order in OTHERS),
    ),
    load=_made(1, "fresh"),
)
REPLAY_COLUMNS = Benchmark(
    name="replay-columns",
    title=f"the same table, {len(THREE)} of its 10 columns",
    baseline=SPARK,
    limit=LIMIT,
    competitors=(
        _competitor(
            "bounded",
            "a window of 1/5 of all rows",
            in_spark,
            Reading("bounded", columns=THREE),
        ),
        *(
            _competitor(name, what, how, Reading(order, columns=THREE))
            for name, what, how, order in OTHERS
        ),
    ),
    load=_made(1, "fresh"),
)
REPLAY_COMPACTED = Benchmark(
    name="replay-compacted",
    title="the same rows where compaction has joined files from anywhere in the day",
    baseline="any",
    limit=LIMIT,
    competitors=(
        _competitor("bounded", "a window of 1/5", in_spark, Reading("bounded", layout="compacted")),
        _competitor(
            "bounded, narrow",
            "a window of 3/100",
            in_spark,
            Reading("bounded", NARROW, "compacted"),
        ),
        _competitor(
            "bounded, row groups too wide",
            "each with parts of two files, a window of 1/5",
            in_spark,
            Reading("bounded", layout="scattered"),
        ),
        _competitor("any", "file by file", in_spark, Reading("any", layout="compacted")),
        _competitor(LIMIT, "two threads, unordered", decoded, Reading(layout="compacted")),
    ),
    load=_made(1, "compacted", "scattered"),
)
REPLAY_ALIGNED = Benchmark(
    name="replay-aligned",
    title="two such tables in one query",
    baseline=SPARK,
    limit=LIMIT,
    competitors=(
        _competitor(
            "bounded",
            "aligned, a window of 1/5",
            in_spark,
            Reading("bounded", tables=2),
        ),
        _competitor(SPARK, "not aligned, unordered", in_spark, Reading(tables=2)),
        _competitor("Flink", "aligned every 200 ms, the same window", in_flink, Reading(tables=2)),
        _competitor(LIMIT, "two threads, unordered", decoded, Reading(tables=2)),
    ),
    load=_made(2, "fresh"),
)
