"""What lineage is about: jobs, and the datasets that they read and write."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from headrace.schema.model import Type


@dataclass(frozen=True, slots=True)
class LineageDataset:
    """Something that a job reads or writes.

    `location` is `kafka:CLUSTER/TOPIC`, `iceberg:TABLE`, `search:HOST:PORT/INDEX` or `jsonl:DIR`.
    `columns` are those that its records have, with the type where it is known; a table says so
    itself. `counted` are the labels of the metrics that count its records.
    """

    location: str
    columns: Mapping[str, Type | None] = field(default_factory=dict)
    counted: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class LineageJob:
    """A job, as its receiver knows it over all of its runs.

    `period` is the part of the past that a replay reads: its start, and its end, which is excluded.
    """

    name: str
    kind: Literal["STREAM", "LAKE_TABLE", "APPLICATION", "REPLAY"]
    is_lasting: bool
    inputs: Sequence[LineageDataset] = ()
    outputs: Sequence[LineageDataset] = ()
    period: tuple[str, str] | None = None
    tags: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class LineageTest:
    """A promise that a run has checked on what it did."""

    name: str
    has_passed: bool
    expected: str
    actual: str
    description: str


@dataclass(frozen=True, slots=True)
class LineageResult:
    """What a run knows at its end.

    `snapshots` and `rows_read` are by the location of an input. `output` is where a replay's only
    output is in the end, with `rows_written`.
    """

    is_complete: bool = True
    tests: Sequence[LineageTest] = ()
    snapshots: Mapping[str, int] = field(default_factory=dict)
    rows_read: Mapping[str, int] = field(default_factory=dict)
    rows_written: int | None = None
    output: str | None = None
