"""Showing how far a replay is: a bar for a person, JSON lines for a machine."""

from __future__ import annotations

import os
from dataclasses import asdict
from typing import TYPE_CHECKING

import structlog
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from headrace.log import FORMAT_VARIABLE
from headrace.times import format_time_us

if TYPE_CHECKING:
    from collections.abc import Iterable

    from backfill.replay import Progress as Position

log = structlog.get_logger(__name__)


def follow(positions: Iterable[Position]) -> None:
    """Walk a replay to its end, showing each step on stderr: as a bar, or as JSON lines."""
    if os.environ.get(FORMAT_VARIABLE) == "json":
        for position in positions:
            frontier = format_time_us(position.frontier_us)
            log.info("step delivered", **{**asdict(position), "frontier": frontier})
        return
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("rows {task.fields[rows]:,}"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True)) as bar:
        task = bar.add_task("replay", total=None, rows=0)
        for position in positions:
            bar.update(
                task,
                total=position.steps,
                completed=position.step,
                rows=position.rows,
                description=f"replay, at {format_time_us(position.frontier_us)}",
            )
