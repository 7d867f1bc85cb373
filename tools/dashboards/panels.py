"""What a dashboard is made of, and the expressions that its panels share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

if TYPE_CHECKING:
    from collections.abc import Sequence

    from headrace.metrics.definitions import Metric

COLUMNS: Final = 24
# Grafana's names of units.
Unit = Literal["short", "s", "Bps", "bytes", "percentunit", "reqps", "wps", "dateTimeAsIso"]


@dataclass(frozen=True, slots=True)
class Query:
    """An expression, and how each of its series is called; `{{stream}}` is the value of a label."""

    expr: str
    legend: str


@dataclass(frozen=True, slots=True)
class Panel:
    """A picture of some queries, a third of the width of the page unless `width` says more."""

    title: str
    about: str
    unit: Unit
    queries: Sequence[Query]
    kind: Literal["timeseries", "stat", "table"] = "timeseries"
    width: int = COLUMNS // 3


@dataclass(frozen=True, slots=True)
class Choice:
    """What a reader of a dashboard chooses: values of a label."""

    label: str
    metric: Metric


@dataclass(frozen=True, slots=True)
class Dashboard:
    """A page of panels."""

    name: str
    choices: Sequence[Choice]
    panels: Sequence[Panel]


def rate(metric: Metric, by: str, where: str = "") -> str:
    """Return what a counter grows by in a second."""
    return f"sum by ({by}) (rate({metric.name}{where}[$__rate_interval]))"


def quantile(metric: Metric, share: float, by: str, where: str) -> str:
    """Return what a share of the durations stays below."""
    buckets = f"rate({metric.name}_bucket{where}[$__rate_interval])"
    return f"histogram_quantile({share}, sum by ({by}, le) ({buckets}))"


def durations(metric: Metric, by: str, where: str) -> list[Query]:
    """Return the queries for the median of a histogram, and for its 95 %."""
    who = " ".join(f"{{{{{label}}}}}" for label in by.split(", "))
    return [
        Query(quantile(metric, share, by, where), f"{who} {name}")
        for share, name in ((0.5, "median"), (0.95, "95 %"))
    ]
