"""What a benchmark consists of, and what comes out of a run."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from benchmarks.arena import Arena
    from benchmarks.measure import Command, Measured
    from benchmarks.output import Output

# «cold»: the wall time holds the start of Python, and of a JVM and Spark where there are any.
# «warm»: they run already when the time begins.
StartUp: TypeAlias = Literal["cold", "warm"]


class WrongResult(Exception):
    """A competitor that did not do the work: its time counts for nothing."""


class LeftOut(Exception):
    """A competitor that cannot be had on this machine, which is no failure; says why."""


@dataclass(frozen=True, slots=True)
class Run:
    """One run of a competitor, with fresh topics, tables and folders of its own."""

    command: Command
    # Raises WrongResult; its own time is not measured.
    check: Callable[[Measured], None]
    # The part of the wall time that is work on records, None where it cannot be read.
    work_s: Callable[[Measured], float | None]
    clean_up: Callable[[], None]
    # Rows that were done before the command was warm: they count for nothing.
    warm_rows: int = 0
    # What there is to tell beside the time: a figure by its name.
    facts: Callable[[Measured], Mapping[str, float]] = lambda _: {}
    # The topic that is watched, for what was used between its first record and its last.
    output: Output | None = None


@dataclass(frozen=True, slots=True)
class Competitor:
    """One way to do the work."""

    name: str
    what: str
    start_up: StartUp
    prepare: Callable[[Arena, Path], Run]
    # With fewer rows it has nothing to show, and does not run.
    least_rows: int = 0
    # One of our console scripts, whose options an older headrace knows as well.
    is_our_command: bool = False

    def of(self, checkout: Path) -> Competitor:
        """Return the same with the command of another checkout."""

        def prepare(arena: Arena, folder: Path) -> Run:
            run = self.prepare(arena, folder)
            script, *rest = run.command.argv
            there = checkout.resolve() / ".venv" / "bin" / Path(script).name
            return replace(run, command=replace(run.command, argv=[str(there), *rest]))

        return replace(self, name=f"{self.name} of {checkout.name}", prepare=prepare)


@dataclass(frozen=True, slots=True)
class Benchmark:
    """The same work, done by several: the first is ours."""

    name: str
    title: str
    # Whom the others are compared with, round by round.
    baseline: str
    # What no implementation of this work on this machine is expected to beat.
    limit: str
    competitors: tuple[Competitor, ...]
    # Puts in place what all read, outside the measured time; returns how many rows that is.
    load: Callable[[Arena], int]
    # Those that do the same work and promise much the same: each one of ours beside another.
    pairs: tuple[tuple[str, str], ...] = ()

    def without(self, names: Collection[str]) -> Benchmark:
        """Return the contest without some of its competitors; all are compared with the baseline."""
        left = tuple(
            one
            for one in self.competitors
            if one.name not in names or one.name == self.baseline or one is self.competitors[0]
        )
        kept = {one.name for one in left}
        return replace(
            self, competitors=left, pairs=tuple(p for p in self.pairs if kept.issuperset(p))
        )

    def against(self, checkout: Path) -> list[Benchmark]:
        """Return a contest of two for each command of ours: this checkout's and another's."""
        found = []
        for one in self.competitors:
            if one.is_our_command:
                twin = one.of(checkout)
                name = f"{self.name}-{one.start_up}-against-{checkout.name}"
                pair = replace(self, name=name, baseline=twin.name, limit=twin.name, pairs=())
                found.append(replace(pair, competitors=(one, twin)))
        return found


@dataclass(frozen=True, slots=True)
class Sample:
    """What one run used, its result checked."""

    round: int
    position: int
    competitor: str
    rows: int
    wall_s: float
    work_s: float | None
    cpu_s: float
    unwaited_cpu_s: float
    broker_cpu_s: float
    elsewhere_cpu_s: float
    facts: Mapping[str, float] = field(default_factory=dict)
    # What was used between the first output and the last, and for how many rows.
    work_rows: int | None = None
    work_cpu_s: float | None = None
    work_broker_cpu_s: float | None = None
    peak_rss_mb: float | None = None


@dataclass(frozen=True, slots=True)
class Failure:
    """A run that does not count."""

    round: int
    position: int
    competitor: str
    reason: str


@dataclass(frozen=True, slots=True)
class Omission:
    """A run that could not be held on this machine."""

    round: int
    position: int
    competitor: str
    reason: str


Outcome: TypeAlias = Sample | Failure | Omission
