"""What is dispatched, and in which order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable


@dataclass(frozen=True, slots=True)
class Unit:
    """A data file of a source, with the bounds of its ingestion times."""

    source: str
    path: str
    min_ts_us: int
    max_ts_us: int
    rows: int
    size_bytes: int


def in_order(units: Iterable[Unit]) -> list[Unit]:
    """Return units by their lower bound; ties are broken by name, so that a plan is one plan."""
    return sorted(units, key=lambda unit: (unit.min_ts_us, unit.max_ts_us, unit.source, unit.path))
