"""What a replay says of itself at its end, from what it measured."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


@dataclass(frozen=True, slots=True)
class SourceCount:
    """One table in a replay."""

    name: str
    snapshot_id: int | None
    files: int
    rows: int


@dataclass(frozen=True, slots=True)
class Certificate:
    """The measured facts. `threshold_ms` is null where no bound was asked for."""

    period: str
    order: str
    steps: int
    threshold_ms: float | None
    max_disorder_ms: float
    dropped_late: int
    complete: bool
    sources: tuple[SourceCount, ...]

    @property
    def bound_held(self) -> bool:
        """Whether no record was further out of order than the threshold."""
        return self.threshold_ms is None or self.max_disorder_ms <= self.threshold_ms

    @property
    def rows(self) -> int:
        """How many rows were delivered."""
        return sum(source.rows for source in self.sources)

    def to_json(self) -> str:
        """Write the certificate for machines."""
        whole = {
            "rows": self.rows,
            "steps": self.steps,
            "threshold_ms": self.threshold_ms,
            "max_disorder_ms": self.max_disorder_ms,
            "dropped_late": self.dropped_late,
            "complete": self.complete,
            "order": self.order,
            "bound_held": self.bound_held,
            "period": self.period,
            "sources": [asdict(source) for source in self.sources],
            "snapshots": {source.name: source.snapshot_id for source in self.sources},
        }
        return json.dumps(whole, indent=2) + "\n"

    def to_text(self, folder: Path) -> str:
        """Write the certificate for a person."""
        steps = "step" if self.steps == 1 else "steps"
        bound = "" if self.threshold_ms is None else f" of {self.threshold_ms / 1000:g} s allowed"
        return (
            f"{self.rows:,} rows in {self.steps:,} {steps} → {folder}\n"
            f"  period {self.period}\n"
            f"  largest disorder {self.max_disorder_ms / 1000:.3f} s{bound},"
            f" dropped as late {self.dropped_late}"
        )
