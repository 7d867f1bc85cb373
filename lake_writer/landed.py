"""What a writer has landed since it was started."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from headrace.metrics.durations import Durations

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from lake_writer.task import Written


@dataclass(frozen=True, slots=True)
class Landed:
    """What a run brought into the table."""

    commits: int = 0
    rows: int = 0
    quarantined: int = 0
    dropped: int = 0


@dataclass(slots=True)
class Shown:
    """What others may see of a job: what it has read and landed, and how long that takes."""

    records: int = 0
    bytes: int = 0
    files: int = 0
    planned_at_s: float = 0.0
    ends: Mapping[int, int] = field(default_factory=dict)
    batches: Durations = field(default_factory=Durations)
    commits: Durations = field(default_factory=Durations)

    @property
    def took_ms(self) -> int:
        """How long the batch that is at hand took since it was planned."""
        return round((time.monotonic() - self.planned_at_s) * 1000)

    def count(self, answers: Sequence[Written]) -> None:
        """Count a batch that is committed."""
        files = [file for one in answers for file in one.files]
        self.records += sum(one.records for one in answers)
        self.bytes += sum(file.file_size_in_bytes for file in files)
        self.files += len(files)
        self.batches.observe(time.monotonic() - self.planned_at_s)
