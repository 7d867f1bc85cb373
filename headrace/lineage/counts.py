"""How many records a run has read and written so far, by the metrics that count them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from headrace.metrics.definitions import (
    COMMITTED_BYTES,
    COMMITTED_FILES,
    COMMITTED_ROWS,
    RECORDS_IN,
    RECORDS_OUT,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from headrace.metrics.definitions import Metric
    from headrace.metrics.text import Sample

_USED: Final = {
    one.name for one in (RECORDS_IN, RECORDS_OUT, COMMITTED_ROWS, COMMITTED_BYTES, COMMITTED_FILES)
}


@dataclass(frozen=True, slots=True)
class Written:
    """What an output has got since the run began; None where nothing counts it."""

    rows: int | None = None
    size: int | None = None
    files: int | None = None


class Counts:
    """The counters at one moment."""

    def __init__(self, samples: Iterable[Sample]) -> None:
        self._values: dict[tuple[str, str], dict[str, list[tuple[Mapping[str, str], int]]]] = {}
        for one in samples:
            if one.metric.name not in _USED or not isinstance(one.value, int):
                continue
            for label in one.labels.items():
                by_metric = self._values.setdefault(label, {})
                by_metric.setdefault(one.metric.name, []).append((one.labels, one.value))

    def read(self, labels: Mapping[str, str]) -> int | None:
        """Return how many records were read: of a stream, by the output that has read most."""
        return max(self._of(RECORDS_IN, labels), default=None)

    def written(self, labels: Mapping[str, str]) -> Written:
        """Return what was written."""
        rows = [*self._of(RECORDS_OUT, labels), *self._of(COMMITTED_ROWS, labels)]
        sizes, files = self._of(COMMITTED_BYTES, labels), self._of(COMMITTED_FILES, labels)
        return Written(*(sum(one) if one else None for one in (rows, sizes, files)))

    def _of(self, metric: Metric, labels: Mapping[str, str]) -> list[int]:
        if not labels:
            return []
        first = next(iter(labels.items()))
        found = self._values.get(first, {}).get(metric.name, [])
        return [value for held, value in found if labels.items() <= held.items()]
