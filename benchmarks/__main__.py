"""`python -m benchmarks`: runs the contests, prints their tables."""

from __future__ import annotations

import math
import signal
import sys
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import rich_click as click

from benchmarks.arena import Arena
from benchmarks.bench_lake_writer import LAKE_WRITER
from benchmarks.bench_replay import REPLAY
from benchmarks.bench_replay_join import REPLAY_JOIN
from benchmarks.bench_replay_read import (
    REPLAY_ALIGNED,
    REPLAY_COLUMNS,
    REPLAY_COMPACTED,
    REPLAY_READ,
)
from benchmarks.bench_router import OUTPUTS, ROUTER
from benchmarks.bench_workers import LAKE_WRITER_WORKERS, ROUTER_WORKERS
from benchmarks.contest import Extent, hold
from benchmarks.machine import machine, versions
from benchmarks.measure import ROOT, CommandFailed
from benchmarks.model import Failure, Omission, Sample, WrongResult
from benchmarks.peer import run_first_command
from benchmarks.report import Circumstances, write
from headrace.cli.command import FAILED, run

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import FrameType

    from benchmarks.model import Benchmark, Outcome

# One of each stage: they end in a few minutes, and show that all of it works.
IN_SHORT = (ROUTER, OUTPUTS, LAKE_WRITER, REPLAY, REPLAY_READ)
BENCHMARKS = (
    *IN_SHORT,
    REPLAY_COLUMNS,
    REPLAY_COMPACTED,
    REPLAY_ALIGNED,
    REPLAY_JOIN,
    ROUTER_WORKERS,
    LAKE_WRITER_WORKERS,
)
RESULTS = ROOT / "artifacts" / "benchmarks"
SEED = 20260105
# A run that is slower than this is stopped, however many events were asked for.
LEAST_EVENTS_PER_S = 20_000


@dataclass(frozen=True, slots=True)
class Form:
    """How much is done."""

    name: str
    rounds: int
    events: int
    # One run that takes longer is stopped, and failed.
    limit_s: float
    # No further round is begun that would make all contests together take longer.
    budget_s: float


SHORT = Form("short form", rounds=2, events=100_000, limit_s=120, budget_s=240)
FULL = Form("full form", rounds=5, events=4_000_000, limit_s=900, budget_s=math.inf)


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--full", is_flag=True, help="The full form: more rounds and more events; it takes longer."
)
@click.option(
    "--only",
    multiple=True,
    type=click.Choice([one.name for one in BENCHMARKS]),
    help="Run only this contest; may be repeated.",
)
@click.option(
    "--without",
    multiple=True,
    metavar="NAME",
    help="Leave this competitor out (--list has the names); may be repeated.",
)
@click.option(
    "--rounds",
    type=click.IntRange(1),
    help=f"How often each competitor runs. [default: {SHORT.rounds}, --full {FULL.rounds}]",
)
@click.option(
    "--events",
    type=click.IntRange(1000),
    help=f"How many events. [default: {SHORT.events:,}, --full {FULL.events:,}]",
)
@click.option(
    "--against",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    metavar="DIR",
    help="Another checkout of headrace, set up: compare with its commands instead of with others.",
)
@click.option(
    "--list", "only_list", is_flag=True, help="List the contests and their competitors, then end."
)
def benchmarks(  # noqa: PLR0913 - an argument for each option
    *,
    full: bool,
    only: tuple[str, ...],
    without: tuple[str, ...],
    rounds: int | None,
    events: int | None,
    against: Path | None,
    only_list: bool,
) -> int:
    """Compare the stages with other tools, and with the limit of this machine.

    The benchmark starts one broker on the loopback. All competitors take turns on it: A B C, then
    B C A, and so on. A time counts only if the result is right. Tables go to stdout, progress goes
    to stderr, and all figures go to artifacts/benchmarks. Ctrl-C stops everything and writes the
    results so far. docs/benchmarks.md explains the tables.

    \b
      python -m benchmarks                          short form, a few minutes
      python -m benchmarks --only router --rounds 5
      python -m benchmarks --only router --rounds 5 --against ../before
      python -m benchmarks --full                   on a machine that does nothing else
    """  # noqa: D301 - \b is click's mark for text that keeps its lines
    chosen = [one for one in BENCHMARKS if not only or one.name in only]
    known = {one.name for benchmark in chosen for one in benchmark.competitors}
    if unknown := [name for name in without if name not in known]:
        raise click.UsageError(f"no competitor is called {unknown[0]}: --list has their names")
    chosen = [one.without(without) for one in chosen]
    if against is not None:
        chosen = [pair for one in chosen for pair in one.against(against)]
    if only_list:
        click.echo("\n".join(listed(chosen)))
        return 0
    if not (full or only):
        chosen = list(IN_SHORT)
        rest = [one.name for one in BENCHMARKS if one not in chosen]
        say(f"left to --full, or to --only: {', '.join(rest)}")
    form = FULL if full else SHORT
    form = replace(
        form,
        # A table of one round over many events would else be called short, or full.
        name="custom form" if rounds or events else form.name,
        rounds=rounds or form.rounds,
        events=events or form.events,
        limit_s=max(form.limit_s, (events or form.events) / LEAST_EVENTS_PER_S),
        # Whoever asks for so many rounds gets them.
        budget_s=math.inf if rounds else form.budget_s / len(chosen),
    )
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, interrupt)
    if sys.platform != "linux":
        say("benchmarks need Linux: the CPU time of ended processes is counted by its means")
        return FAILED
    with Arena(form.events, SEED, form.limit_s, say) as arena:
        # Nobody's is the first command on their machine.
        run_first_command(arena)
        results = [compete(one, arena, form) for one in chosen]
    return FAILED if any(results) else 0


def compete(benchmark: Benchmark, arena: Arena, form: Form) -> bool:
    """Hold one contest and report it; whether anything in it failed."""
    started, before, used = datetime.now(UTC), machine(), versions()
    outcomes: list[Outcome] = []
    finished = False
    try:
        rows = benchmark.load(arena)
        least = min(one.least_rows for one in benchmark.competitors)
        if rows < least:
            say(f"  {benchmark.name} needs {least:,} events, and is left out")
            return False
        for outcome in hold(benchmark, arena, Extent(form.rounds, form.budget_s), rows):
            outcomes.append(outcome)
            say(f"  {benchmark.name}: {told(outcome)}")
        finished = True
    except (CommandFailed, WrongResult) as problem:
        say(f"  {benchmark.name} could not be prepared: {problem}")
        return True
    finally:
        if outcomes:
            around = Circumstances(
                started=started,
                form=form.name,
                rounds=form.rounds,
                events=form.events,
                seed=SEED,
                value_bytes=arena.value_bytes,
                interrupted=not finished,
                machine=before,
                versions=used,
            )
            path, markdown = write(RESULTS, benchmark, around, outcomes)
            click.echo(markdown)
            say(f"  all figures: {path.relative_to(ROOT)}")
    return any(isinstance(outcome, Failure) for outcome in outcomes)


def listed(chosen: Sequence[Benchmark]) -> list[str]:
    """Return the lines of `--list`."""
    lines = []
    for benchmark in chosen:
        lines.append(f"{benchmark.name}: {benchmark.title}")
        for one in benchmark.competitors:
            roles = {benchmark.baseline: " (baseline)", benchmark.limit: " (limit)"}
            lines.append(f"  {one.name}{roles.get(one.name, '')}: {one.what}; {one.start_up}")
    return lines


def told(outcome: Outcome) -> str:
    """Return a line of progress."""
    where = f"round {outcome.round + 1}, {outcome.competitor}"
    match outcome:
        case Sample():
            return f"{where}: {outcome.wall_s:.1f} s, {outcome.cpu_s:.1f} CPU-s"
        case Failure():
            return f"{where} FAILED: {outcome.reason}"
        case Omission():
            return f"{where} is left out: {outcome.reason}"


def say(text: str) -> None:
    """Tell progress."""
    click.echo(text, err=True)


def interrupt(_number: int, _frame: FrameType | None) -> None:
    """Stop everything in order on SIGTERM, too, and on a Ctrl-C that our parent ignores."""
    raise KeyboardInterrupt


if __name__ == "__main__":
    run(benchmarks, "python -m benchmarks")
