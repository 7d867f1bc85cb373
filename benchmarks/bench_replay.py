"""The replay: an Iceberg table read again and written as JSON Lines."""

from __future__ import annotations

from typing import TYPE_CHECKING

from benchmarks.arena import console_script
from benchmarks.bench_lake_writer import TABLE, data_files, write_lake_table
from benchmarks.checks import landed, lines, require
from benchmarks.events import END_EXCLUSIVE, START
from benchmarks.measure import Command, measure
from benchmarks.model import Benchmark, Competitor, Run
from benchmarks.peer import checkpoint_work_s, peer_command, said, said_work_s, spark_settings

if TYPE_CHECKING:
    from pathlib import Path

    from benchmarks.arena import Arena

# The table is landed in as many commits, of a file per partition each.
COMMITS = 8


def land(arena: Arena) -> int:
    """Land the topic once for all replays of a run."""
    workspace, rows = lake(arena), arena.loaded.rows
    if not workspace.exists():
        arena.say(f"landing {rows:,} rows in a table")
        workspace.mkdir()
        arena.new_workspace(workspace)
        argv = write_lake_table(workspace, -(-rows // COMMITS))
        measure(Command(argv, workspace), arena.limit_s)
        landed(arena, data_files(workspace))
    return rows


def lake(arena: Arena) -> Path:
    """Return the workspace that holds the table."""
    return arena.root / "lake"


def headrace_replay(arena: Arena, folder: Path) -> Run:
    """Prepare `backfill replay --to jsonl:DIR`."""
    target = folder / "replayed"
    argv = [console_script("backfill"), "replay", "--table", TABLE, "--to", f"jsonl:{target}"]
    argv += ["--start-ts", START.isoformat(), "--end-ts", END_EXCLUSIVE.isoformat()]
    argv += ["--workspace", str(lake(arena))]
    return Run(
        Command(argv, folder),
        check=lambda _: lines(target.glob("step-*.jsonl"), arena.loaded.rows),
        # It says nothing of when it began with the rows.
        work_s=lambda _: None,
        clean_up=lambda: None,
    )


def spark_replay(arena: Arena, folder: Path) -> Run:
    """Prepare Spark's own stream over the table."""
    target, checkpoint = folder / "replayed", folder / "checkpoint"
    settings = {
        "table": TABLE,
        "target": str(target),
        "checkpoint": str(checkpoint),
        "spark": spark_settings(lake(arena), folder.name),
    }
    return Run(
        peer_command("spark_replay", settings, folder),
        check=lambda _: lines(target.glob("*.json"), arena.loaded.rows),
        work_s=lambda _: checkpoint_work_s([checkpoint]),
        clean_up=lambda: None,
    )


def arrow_scan(arena: Arena, folder: Path) -> Run:
    """Prepare the limit: decoding alone."""
    settings = {"files": sorted(str(file) for file in data_files(lake(arena)))}
    return Run(
        peer_command("arrow_scan", settings, folder),
        check=lambda measured: require("rows", said(measured)["rows"], arena.loaded.rows),
        work_s=said_work_s,
        clean_up=lambda: None,
    )


REPLAY = Benchmark(
    name="replay",
    title=f"an Iceberg table of {COMMITS} commits read again and written as JSON Lines",
    baseline="Spark's Iceberg stream",
    limit="pyarrow decode",
    competitors=(
        Competitor(
            "headrace",
            "backfill replay --to jsonl:DIR, in order",
            "cold",
            headrace_replay,
            is_our_command=True,
        ),
        Competitor("Spark's Iceberg stream", "readStream, unordered", "cold", spark_replay),
        Competitor("pyarrow decode", "two threads, nothing written", "cold", arrow_scan),
    ),
    load=land,
)
