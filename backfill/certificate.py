"""What a replay says of itself at its end, from what it measured."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass


@dataclass(frozen=True, slots=True)
class SourceCount:
    """One table in a replay."""

    name: str
    snapshot_id: int | None
    files: int
    rows: int


@dataclass(frozen=True, slots=True)
class Certificate:
    """The measured facts. `threshold_ms` is null where the order was by lower bound alone."""

    period: str
    steps: int
    threshold_ms: int | None
    max_disorder_ms: float
    dropped_late: int
    complete: bool
    sources: tuple[SourceCount, ...]

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
            "period": self.period,
            "sources": [asdict(source) for source in self.sources],
            "snapshots": {source.name: source.snapshot_id for source in self.sources},
        }
        return json.dumps(whole, indent=2) + "\n"
