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
    rows_per_work_cpu_s: Spread | None
    peak_rss_mb: Spread | None


@dataclass(frozen=True, slots=True)
class Pair:
    """One of ours beside one that does the same work: ratios per row, paired by round."""

    ours: str
    theirs: str
    wall_ratio: Spread | None
    cpu_ratio: Spread | None
    work_ratio: Spread | None
    work_cpu_ratio: Spread | None


# Work too short to be told from a clock's tick has no rate.
SHORTEST_S = 0.001

FIGURES: Mapping[str, Callable[[Sample], float | None]] = {
    "wall_s": lambda sample: sample.wall_s,
    "work_s": lambda sample: sample.work_s,
    "cpu_s": lambda sample: sample.cpu_s,
    "broker_cpu_s": lambda sample: sample.broker_cpu_s,
    "elsewhere_cpu_s": lambda sample: sample.elsewhere_cpu_s,
    "rows_per_s": lambda sample: _rate(sample.rows, sample.wall_s),
    "rows_per_work_s": lambda sample: _rate(_work_rows(sample), sample.work_s),
    "rows_per_work_cpu_s": lambda sample: _rate(_work_rows(sample), _work_cpu_s(sample)),
    "peak_rss_mb": lambda sample: sample.peak_rss_mb,
    # The broker's part included: whoever makes it work less has done less.
    "rows_per_cpu_s": lambda sample: _rate(sample.rows, sample.cpu_s + sample.broker_cpu_s),
    # Per row, as one that is measured warm has fewer of them to show.
    "wall_per_row": lambda sample: sample.wall_s / sample.rows,
    "work_per_row": lambda sample: _per(sample.work_s, _work_rows(sample)),
    "work_cpu_per_row": lambda sample: _per(_work_cpu_s(sample), _work_rows(sample)),
    "cpu_per_row": lambda sample: (sample.cpu_s + sample.broker_cpu_s) / sample.rows,
}


def summarize(benchmark: Benchmark, outcomes: Sequence[Outcome]) -> list[Line]:
    """Return a line per competitor, in the order of the benchmark."""
    return [_line(competitor.name, benchmark, outcomes) for competitor in benchmark.competitors]


def summarize_pairs(benchmark: Benchmark, outcomes: Sequence[Outcome]) -> list[Pair]:
    """Return a comparison for each pair of which both were measured in some round."""
    held = {outcome.competitor for outcome in outcomes if isinstance(outcome, Sample)}
    return [
        Pair(
            ours,
            theirs,
            wall_ratio=_ratio(outcomes, ours, theirs, "wall_per_row"),
            cpu_ratio=_ratio(outcomes, ours, theirs, "cpu_per_row"),
            work_ratio=_ratio(outcomes, ours, theirs, "work_per_row"),
            work_cpu_ratio=_ratio(outcomes, ours, theirs, "work_cpu_per_row"),
        )
        for ours, theirs in benchmark.pairs
        if {ours, theirs} <= held
    ]


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
        return _ratio(outcomes, name, benchmark.baseline, figure)

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
        rows_per_work_cpu_s=of("rows_per_work_cpu_s"),
        peak_rss_mb=of("peak_rss_mb"),
        failures=sum(
            isinstance(outcome, Failure) and outcome.competitor == name for outcome in outcomes
        ),
    )


def _ratio(outcomes: Sequence[Outcome], ours: str, theirs: str, figure: str) -> Spread | None:
    figures = (by_round(outcomes, name, FIGURES[figure]) for name in (ours, theirs))
    return spread(paired_ratios(*figures))


def _work_rows(sample: Sample) -> int:
    return sample.rows if sample.work_rows is None else sample.work_rows


def _work_cpu_s(sample: Sample) -> float | None:
    if sample.work_cpu_s is None or sample.work_broker_cpu_s is None:
        return None
    return sample.work_cpu_s + sample.work_broker_cpu_s


def _per(seconds: float | None, rows: int) -> float | None:
    return None if seconds is None or not rows else seconds / rows


def _rate(rows: int, seconds: float | None) -> float | None:
    return rows / seconds if seconds is not None and seconds > SHORTEST_S else None
