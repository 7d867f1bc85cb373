"""What a benchmark consists of, and what comes out of a run."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from benchmarks.arena import Arena
    from benchmarks.measure import Command, Measured

# «cold»: the wall time holds the start of Python, and of a JVM and Spark where there are any.
# «warm»: they run already when the time begins.
StartUp: TypeAlias = Literal["cold", "warm"]


class WrongResult(Exception):
    """A competitor that did not do the work: its time counts for nothing."""


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


@dataclass(frozen=True, slots=True)
class Competitor:
    """One way to do the work."""

    name: str
    what: str
    start_up: StartUp
    prepare: Callable[[Arena, Path], Run]
    # With fewer rows it has nothing to show, and does not run.
    least_rows: int = 0


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


@dataclass(frozen=True, slots=True)
class Failure:
    """A run that does not count."""

    round: int
    position: int
    competitor: str
    reason: str


Outcome: TypeAlias = Sample | Failure
