"""Showing how far a replay is: a bar for a person, JSON lines for a machine."""

from __future__ import annotations

import os
import time
from dataclasses import asdict
from typing import TYPE_CHECKING

import msgspec
import structlog
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

from backfill.run.facts import Reach
from headrace import state_files
from headrace.log import FORMAT_VARIABLE
from headrace.times import format_time_us

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

    from backfill.run.facts import ReplayFacts
    from backfill.tables.delivery import StepProgress


log = structlog.get_logger(__name__)


def shown_to(facts: ReplayFacts, steps: Iterable[StepProgress]) -> Iterator[StepProgress]:
    """Pass on the steps of a replay, and let others see them."""
    for progress in steps:
        facts.reached(Reach(progress.step, progress.rows, progress.newest_us))
        yield progress


def follow(steps: Iterable[StepProgress]) -> None:
    """Walk a replay to its end, showing each step on stderr: as a bar, or as JSON lines."""
    if os.environ.get(FORMAT_VARIABLE) == "json":
        for progress, speed in with_speed(steps):
            times = {
                "frontier": format_time_us(progress.frontier_us),
                "newest": {name: format_time_us(us) for name, us in progress.newest_us.items()},
                "rows_per_s": speed,
                "eta_s": eta_s(progress, speed),
            }
            shown = {name: value for name, value in asdict(progress).items() if "_us" not in name}
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
        for progress, speed in with_speed(steps):
            bar.update(
                task,
                total=progress.steps,
                completed=progress.step,
                description=f"replay, at {format_time_us(progress.frontier_us)[:-8]}Z",
                shown=_shown(progress, speed),
            )


def with_speed(
    steps: Iterable[StepProgress], clock: Callable[[], float] = time.monotonic
) -> Iterator[tuple[StepProgress, float | None]]:
    """Yield each position with the rows a second since the first one that was seen."""
    first_rows, first_s = None, clock()
    for progress in steps:
        if first_rows is None:
            # A run that goes on: what was there before does not count for its speed.
            first_rows, first_s = progress.rows, clock()
            yield progress, None
            continue
        passed = clock() - first_s
        yield progress, round((progress.rows - first_rows) / passed, 1) if passed > 0 else None


def eta_s(progress: StepProgress, speed: float | None) -> float | None:
    """Return how long it will take from here, None where nobody knows."""
    if not speed:
        return None
    return round(max(0, progress.rows_planned - progress.rows) / speed, 1)


def _shown(progress: StepProgress, speed: float | None) -> str:
    left = eta_s(progress, speed)
    parts = [f"rows {progress.rows:,}"]
    if speed is not None:
        parts.append(f"{speed:,.0f}/s")
    if left is not None:
        parts.append(f"{left:,.0f} s left")
    if len(progress.newest_us) > 1:
        behind = max(progress.newest_us.values())
        parts += [
            f"{name.rpartition('.')[2]} -{(behind - newest_us) / 1_000_000:.0f}s"
            for name, newest_us in progress.newest_us.items()
            if newest_us < behind
        ]
    return ", ".join(parts)


FILE = "speeds.json"
# A run of less says more of starting than of replaying.
LEAST_S = 1.0
LEAST_ROWS = 10_000
OF_APP = "app "


def remember(folder: Path, kind: str, rows: int, seconds: float) -> None:
    """Keep how fast a run went; of a kind of target the last run counts."""
    if seconds < LEAST_S or rows < LEAST_ROWS:
        return
    known = speeds(folder) | {kind: rows / seconds}
    state_files.write(folder / FILE, msgspec.json.encode(known))


def app_kind(name: str) -> str:
    """Return the kind of a replay through an application."""
    return f"{OF_APP}{name}"


def speeds_for(folder: Path, app: str | None) -> dict[str, float]:
    """Return what is known of replays like one of this application, or of none."""
    known = speeds(folder)
    if app is not None:
        return {kind: speed for kind, speed in known.items() if kind == app_kind(app)}
    return {kind: speed for kind, speed in known.items() if not kind.startswith(OF_APP)}


def speeds(folder: Path) -> dict[str, float]:
    """Return the rows a second of the last run into each kind of target."""
    return state_files.find(folder / FILE, dict[str, float]) or {}
