"""The replay as a reader: the three orders, Spark's own stream and the limit, into nowhere."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from benchmarks.bench_lake_writer import TABLE, data_files
from benchmarks.bench_replay import COMMITS, lake, land
from benchmarks.checks import require
from benchmarks.events import END_EXCLUSIVE, START
from benchmarks.model import Benchmark, Competitor, Run
from benchmarks.peer import checkpoint_work_s, peer_command, said, said_work_s, spark_settings

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from benchmarks.arena import Arena
    from benchmarks.measure import Measured

# Beside them every reader gives `__metadata__`, which the order goes by.
THREE = ("event_id", "user_id", "position_ms")


def in_spark(order: str, columns: tuple[str, ...], arena: Arena, folder: Path) -> Run:
    """Prepare a stream of Spark: the replay in an order, or Spark's own where there is none."""
    checkpoint = folder / "checkpoint"
    settings = {
        **_asked(order, columns, arena),
        "run": folder.name,
        "checkpoint": str(checkpoint),
        "spark": spark_settings(lake(arena), folder.name),
    }
    return Run(
        peer_command("spark_noop", settings, folder),
        check=partial(_all_rows, arena),
        work_s=lambda _: checkpoint_work_s([checkpoint]),
        clean_up=lambda: None,
    )


def as_arrow(order: str, columns: tuple[str, ...], arena: Arena, folder: Path) -> Run:
    """Prepare the walk without Spark."""
    return Run(
        peer_command("arrow_walk", _asked(order, columns, arena), folder),
        check=partial(_all_rows, arena),
        work_s=said_work_s,
        clean_up=lambda: None,
    )


def decoded(columns: tuple[str, ...], arena: Arena, folder: Path) -> Run:
    """Prepare the limit: decoding alone, in any order."""
    settings: dict[str, object] = {"files": sorted(map(str, data_files(lake(arena))))}
    if columns:
        settings["columns"] = [*columns, "__metadata__"]
    return Run(
        peer_command("arrow_scan", settings, folder),
        check=partial(_all_rows, arena),
        work_s=said_work_s,
        clean_up=lambda: None,
    )


def _asked(order: str, columns: tuple[str, ...], arena: Arena) -> dict[str, object]:
    return {
        "table": TABLE,
        "order": order,
        "columns": columns,
        "start": START.isoformat(),
        "end": END_EXCLUSIVE.isoformat(),
        "workspace": str(lake(arena)),
    }


def _all_rows(arena: Arena, measured: Measured) -> None:
    require("rows", int(said(measured).get("rows", 0)), arena.loaded.rows)


def _benchmark(name: str, title: str, columns: tuple[str, ...]) -> Benchmark:

    def stream(order: str) -> Callable[[Arena, Path], Run]:
        return lambda arena, folder: in_spark(order, columns, arena, folder)

    return Benchmark(
        name=name,
        title=title,
        baseline="Spark's Iceberg stream",
        limit="pyarrow decode",
        competitors=(
            Competitor("bounded", "our stream in Spark, 15 min", "cold", stream("bounded")),
            Competitor("any", "our stream in Spark, file by file", "cold", stream("any")),
            Competitor("strict", "our stream in Spark, by offsets", "cold", stream("strict")),
            Competitor("Spark's Iceberg stream", "unordered", "cold", stream("")),
            Competitor(
                "Arrow walk",
                "bounded, one Python process",
                "cold",
                lambda arena, folder: as_arrow("bounded", columns, arena, folder),
            ),
            Competitor(
                "pyarrow decode",
                "two threads, unordered",
                "cold",
                lambda arena, folder: decoded(columns, arena, folder),
            ),
        ),
        load=land,
    )


REPLAY_READ = _benchmark(
    "replay-read", f"an Iceberg table of {COMMITS} commits read again, all columns", ()
)
REPLAY_COLUMNS = _benchmark(
    "replay-columns", f"the same table, {len(THREE)} columns and the metadata", THREE
)
