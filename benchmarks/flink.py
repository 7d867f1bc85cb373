"""Flink with Iceberg's source: the talks' own engine, its splits in the order of a column."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from benchmarks.java_peer import OPENED_FOR_FLINK, Program, java_command, write_properties
from benchmarks.measure import Command
from headrace.config.load import load_workspace
from headrace.contract import INGESTION_TS

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from benchmarks.arena import Arena

PROGRAM: Final = Program("FlinkReplay", "flink.lock", "flink", OPENED_FOR_FLINK)
# Iceberg keeps no bounds of fields inside a struct where pyiceberg writes.
ORDERED_BY = "event_ts"


@dataclass(frozen=True, slots=True)
class Job:
    """What Flink is to read: all columns where none are named, aligned where a drift is."""

    tables: Sequence[str]
    columns: Sequence[str]
    drift_s: int | None


def flink_command(arena: Arena, folder: Path, workspace: Path, job: Job) -> Command:
    """Return the command that reads tables by their times."""
    held = load_workspace(workspace).catalog("lake").properties()
    settings = {
        "catalog": "lake",
        "tables": ",".join(name.partition(".")[2] for name in job.tables),
        "uri": held["uri"].replace("sqlite:///", "jdbc:sqlite:"),
        "warehouse": held["warehouse"],
        "columns": ",".join([*job.columns, INGESTION_TS] if job.columns else []),
        "ordered_by": ORDERED_BY,
        "drift_s": "" if job.drift_s is None else str(job.drift_s),
    }
    file = write_properties(folder / "flink.properties", settings)
    return Command(java_command(arena, folder, PROGRAM, [file]), folder)
