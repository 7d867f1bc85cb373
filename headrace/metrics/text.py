"""Values of metrics, and the text in which Prometheus reads them (format 0.0.4)."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING, Final

from headrace.metrics.definitions import METRICS
from headrace.metrics.durations import BOUNDS_S, Durations

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from headrace.metrics.definitions import Metric

CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"


@dataclass(frozen=True, slots=True)
class Sample:
    """A value of a metric, for some of its labels."""

    metric: Metric
    labels: Mapping[str, str]
    value: float | Durations

    def __post_init__(self) -> None:
        if unknown := self.labels.keys() - set(self.metric.labels):
            message = f"{self.metric.name} has no label {', '.join(sorted(unknown))}"
            raise ValueError(message)


def exposition(samples: Iterable[Sample]) -> str:
    """Return the text: each metric that has a value, in the order of the list."""
    by_name: dict[str, list[Sample]] = {}
    for one in samples:
        by_name.setdefault(one.metric.name, []).append(one)
    lines: list[str] = []
    for metric in METRICS:
        if found := by_name.get(metric.name):
            lines.append(f"# HELP {metric.name} {_escaped(metric.help)}")
            lines.append(f"# TYPE {metric.name} {metric.kind}")
            for sample in found:
                lines += _lines(sample)
    return "".join(f"{line}\n" for line in lines)


def _lines(sample: Sample) -> Iterator[str]:
    name, labels = sample.metric.name, _labels(sample.labels)
    value = sample.value
    if not isinstance(value, Durations):
        yield f"{name}{_in_braces(labels)} {_number(value)}"
        return
    counts = list(accumulate(value.in_buckets))
    for bound, count in zip((*map(str, BOUNDS_S), "+Inf"), counts, strict=True):
        within = _in_braces([*labels, f'le="{bound}"'])
        yield f"{name}_bucket{within} {count}"
    yield f"{name}_sum{_in_braces(labels)} {_number(value.sum_s)}"
    yield f"{name}_count{_in_braces(labels)} {counts[-1]}"


def _labels(labels: Mapping[str, str]) -> list[str]:
    return [f'{name}="{_escaped(value, quote=True)}"' for name, value in labels.items()]


def _in_braces(labels: list[str]) -> str:
    return f"{{{','.join(labels)}}}" if labels else ""


def _number(value: float) -> str:
    return repr(value)


def _escaped(text: str, *, quote: bool = False) -> str:
    plain = text.replace("\\", r"\\").replace("\n", r"\n")
    return plain.replace('"', r"\"") if quote else plain
