"""Showing how far a replay is: a bar for a person, JSON lines for a machine."""

from __future__ import annotations

import os
import time
from dataclasses import asdict
from typing import TYPE_CHECKING

import structlog
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

from headrace.log import FORMAT_VARIABLE
from headrace.times import format_time_us

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from backfill.replay import Progress as Position

log = structlog.get_logger(__name__)


def follow(positions: Iterable[Position]) -> None:
    """Walk a replay to its end, showing each step on stderr: as a bar, or as JSON lines."""
    if os.environ.get(FORMAT_VARIABLE) == "json":
        for position, speed in with_speed(positions):
            times = {
                "frontier": format_time_us(position.frontier_us),
                "newest": {name: format_time_us(us) for name, us in position.newest_us.items()},
                "rows_per_s": speed,
                "eta_s": eta_s(position, speed),
            }
            shown = {name: value for name, value in asdict(position).items() if "_us" not in name}
            log.info("step delivered", **shown, **times)
        return
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[shown]}"),
    )
    with Progress(*columns, console=Console(stderr=True)) as bar:
        task = bar.add_task("replay", total=None, shown="")
        for position, speed in with_speed(positions):
            bar.update(
                task,
                total=position.steps,
                completed=position.step,
                description=f"replay, at {format_time_us(position.frontier_us)[:-8]}Z",
                shown=_shown(position, speed),
            )


def with_speed(
    positions: Iterable[Position], clock: Callable[[], float] = time.monotonic
) -> Iterator[tuple[Position, float | None]]:
    """Yield each position with the rows a second since the first one that was seen."""
    first_rows, first_s = None, clock()
    for position in positions:
        if first_rows is None:
            # A run that goes on: what was there before does not count for its speed.
            first_rows, first_s = position.rows, clock()
            yield position, None
            continue
        passed = clock() - first_s
        yield position, round((position.rows - first_rows) / passed, 1) if passed > 0 else None


def eta_s(position: Position, speed: float | None) -> float | None:
    """Return how long it will take from here, None where nobody knows."""
    if not speed:
        return None
    return round(max(0, position.rows_planned - position.rows) / speed, 1)


def _shown(position: Position, speed: float | None) -> str:
    left = eta_s(position, speed)
    parts = [f"rows {position.rows:,}"]
    if speed is not None:
        parts.append(f"{speed:,.0f}/s")
    if left is not None:
        parts.append(f"{left:,.0f} s left")
    if len(position.newest_us) > 1:
        behind = max(position.newest_us.values())
        parts += [
            f"{name.rpartition('.')[2]} -{(behind - newest_us) / 1_000_000:.0f}s"
            for name, newest_us in position.newest_us.items()
            if newest_us < behind
        ]
    return ", ".join(parts)
