"""A contest in figures: per competitor the spread of what it used, and of its paired ratios."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from benchmarks.model import Failure, Sample
from benchmarks.statistics import Spread, paired_ratios, spread

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from benchmarks.model import Benchmark, Outcome


@dataclass(frozen=True, slots=True)
class Line:
    """One competitor over all its rounds; what could not be measured is None."""

    competitor: str
    wall_s: Spread | None
    work_s: Spread | None
    cpu_s: Spread | None
    broker_cpu_s: Spread | None
    elsewhere_cpu_s: Spread | None
    rows_per_s: Spread | None
    rows_per_work_s: Spread | None
    rows_per_cpu_s: Spread | None
    wall_ratio: Spread | None
    work_ratio: Spread | None
    cpu_ratio: Spread | None
    failures: int


# Work too short to be told from a clock's tick has no rate.
SHORTEST_S = 0.001

FIGURES: Mapping[str, Callable[[Sample], float | None]] = {
    "wall_s": lambda sample: sample.wall_s,
    "work_s": lambda sample: sample.work_s,
    "cpu_s": lambda sample: sample.cpu_s,
    "broker_cpu_s": lambda sample: sample.broker_cpu_s,
    "elsewhere_cpu_s": lambda sample: sample.elsewhere_cpu_s,
    "rows_per_s": lambda sample: _rate(sample.rows, sample.wall_s),
    "rows_per_work_s": lambda sample: _rate(sample.rows, sample.work_s),
    # The broker's part included: whoever makes it work less has done less.
    "rows_per_cpu_s": lambda sample: _rate(sample.rows, sample.cpu_s + sample.broker_cpu_s),
    # Per row, as one that is measured warm has fewer of them to show.
    "wall_per_row": lambda sample: sample.wall_s / sample.rows,
    "work_per_row": lambda sample: None if sample.work_s is None else sample.work_s / sample.rows,
    "cpu_per_row": lambda sample: (sample.cpu_s + sample.broker_cpu_s) / sample.rows,
}


def summarize(benchmark: Benchmark, outcomes: Sequence[Outcome]) -> list[Line]:
    """Return a line per competitor, in the order of the benchmark."""
    return [_line(competitor.name, benchmark, outcomes) for competitor in benchmark.competitors]


def by_round(
    outcomes: Sequence[Outcome], competitor: str, figure: Callable[[Sample], float | None]
) -> dict[int, float]:
    """Return one figure of one competitor, for each round that has it."""
    values = {
        outcome.round: figure(outcome)
        for outcome in outcomes
        if isinstance(outcome, Sample) and outcome.competitor == competitor
    }
    return {number: value for number, value in values.items() if value is not None}


def _line(name: str, benchmark: Benchmark, outcomes: Sequence[Outcome]) -> Line:
    def of(figure: str) -> Spread | None:
        return spread(list(by_round(outcomes, name, FIGURES[figure]).values()))

    def ratio(figure: str) -> Spread | None:
        ours = by_round(outcomes, name, FIGURES[figure])
        theirs = by_round(outcomes, benchmark.baseline, FIGURES[figure])
        return spread(paired_ratios(ours, theirs))

    return Line(
        competitor=name,
        wall_s=of("wall_s"),
        work_s=of("work_s"),
        cpu_s=of("cpu_s"),
        broker_cpu_s=of("broker_cpu_s"),
        elsewhere_cpu_s=of("elsewhere_cpu_s"),
        rows_per_s=of("rows_per_s"),
        rows_per_work_s=of("rows_per_work_s"),
        rows_per_cpu_s=of("rows_per_cpu_s"),
        wall_ratio=ratio("wall_per_row"),
        work_ratio=ratio("work_per_row"),
        cpu_ratio=ratio("cpu_per_row"),
        failures=sum(
            isinstance(outcome, Failure) and outcome.competitor == name for outcome in outcomes
        ),
    )


def _rate(rows: int, seconds: float | None) -> float | None:
    return rows / seconds if seconds is not None and seconds > SHORTEST_S else None
