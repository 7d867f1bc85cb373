"""Holding a contest: all competitors in turns, each run measured, checked, and cleared away."""

from __future__ import annotations

import math
import shutil
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from benchmarks.measure import CommandFailed, measure
from benchmarks.model import Failure, LeftOut, Omission, Sample, WrongResult
from benchmarks.output import OutputWatch, counter
from benchmarks.rounds import order_of
from headrace.errors import HeadraceError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from benchmarks.arena import Arena
    from benchmarks.measure import Measured
    from benchmarks.model import Benchmark, Competitor, Outcome, Run


@dataclass(frozen=True, slots=True)
class Extent:
    """How long a contest goes on: so many rounds, or fewer where another would take too long."""

    rounds: int
    budget_s: float = math.inf


def hold(
    benchmark: Benchmark,
    arena: Arena,
    extent: Extent,
    rows: int,
    clock: Callable[[], float] = time.monotonic,
) -> Iterator[Outcome]:
    """Yield the outcome of every run as soon as it is there. One round is always held."""
    begun = clock()
    longest_s = 0.0
    for number in range(extent.rounds):
        round_begun = clock()
        if number and round_begun - begun + longest_s > extent.budget_s:
            return
        able = [one for one in benchmark.competitors if rows >= one.least_rows]
        for position, competitor in enumerate(order_of(able, number)):
            try:
                yield _one(competitor, arena, number, position, rows)
            except (CommandFailed, WrongResult, HeadraceError) as problem:
                yield Failure(number, position, competitor.name, str(problem))
            except LeftOut as reason:
                yield Omission(number, position, competitor.name, str(reason))
        longest_s = max(longest_s, clock() - round_begun)


def _one(
    competitor: Competitor, arena: Arena, round_number: int, position: int, rows: int
) -> Sample:
    folder = arena.new_folder(competitor.name)
    try:
        run = competitor.prepare(arena, folder)
        try:
            measured, first_count = _measure(run, arena, folder)
            _verify(run, measured)
            work = measured.at_work
            return Sample(
                round=round_number,
                position=position,
                competitor=competitor.name,
                rows=rows - run.warm_rows,
                wall_s=measured.wall_s,
                work_s=run.work_s(measured),
                cpu_s=measured.cpu_s,
                unwaited_cpu_s=measured.unwaited_cpu_s,
                broker_cpu_s=measured.watched_cpu_s,
                elsewhere_cpu_s=measured.elsewhere_cpu_s,
                facts=run.facts(measured),
                work_rows=_work_rows(run, rows, first_count),
                work_cpu_s=None if work is None else work.cpu_s,
                work_broker_cpu_s=None if work is None else work.watched_cpu_s,
                peak_rss_mb=measured.peak_rss_bytes / 2**20,
            )
        finally:
            run.clean_up()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _measure(run: Run, arena: Arena, folder: Path) -> tuple[Measured, int]:
    """Return what a run used, and how much of its output was there when it was first seen."""
    servers = [arena.broker.pid]
    if run.output is None:
        return measure(run.command, arena.limit_s, servers), 0
    file = folder / "progress.txt"
    count = counter(arena.bootstrap_servers, run.output)
    with OutputWatch(count, run.output.records, file) as watch:
        command = replace(run.command, progress=file)
        return measure(command, arena.limit_s, servers), watch.first_count


def _work_rows(run: Run, rows: int, first_count: int) -> int | None:
    """Return how many rows were behind the first output: what came with it was done before."""
    if run.output is None:
        return None
    return round(rows * (1 - first_count / run.output.records))


def _verify(run: Run, measured: Measured) -> None:
    try:
        run.check(measured)
    except (KeyError, OSError, TypeError, ValueError) as problem:
        # Output that cannot be read is as wrong as output that is too little.
        raise WrongResult(f"the result cannot be read: {problem!r}") from problem
