"""What the page of a lake table tells beyond the API's row: commits, files, snapshots, costs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


@dataclass(frozen=True, slots=True)
class CommitRow:
    """A snapshot of the table's main line.

    `operation` is Iceberg's; `by` is the lake writer's name, or the engine that says its own.
    `duration_s` is how long the writer's batch took, from its plan to its commit.
    """

    snapshot_id: int
    time: str
    operation: str
    by: str | None = None
    rows_added: int | None = None
    rows_removed: int | None = None
    files_added: int | None = None
    files_removed: int | None = None
    bytes_added: int | None = None
    duration_s: float | None = None


@dataclass(frozen=True, slots=True)
class FileGroup:
    """Files up to a bound, above the bound of the group before; None has no bound."""

    up_to: int | None
    files: int
    bytes: int


@dataclass(frozen=True, slots=True)
class FileRows:
    """The data files of the newest snapshot, counted by their manifests.

    `by_size` is bounded in bytes, `by_span` in seconds between the first and the last ingestion
    time of a file. A file is `wide` if that is more than the threshold. `unread` files are beyond
    what a page counts.
    """

    files: int
    rows: int
    bytes: int
    by_size: Sequence[FileGroup]
    by_span: Sequence[FileGroup]
    small: int
    small_below: int
    wide: int
    wide_bytes: int
    threshold_s: int
    without_bounds: int = 0
    first: str | None = None
    last: str | None = None
    unread: int = 0


@dataclass(frozen=True, slots=True)
class MaintenanceRow:
    """What `lake-writer maintain` would do now.

    `hours` begin the first of the hours that it would compact; `small_files` are in all of them.
    `expiring` snapshots are older than the table keeps them; None where the table forbids expiry.
    """

    hours: Sequence[str]
    small_files: int
    expiring: int | None
    manifests: int
    hours_in_all: int


@dataclass(frozen=True, slots=True)
class RefRow:
    """A tag or a branch that keeps a snapshot.

    `holder` says who needs it, of headrace's own tags: `replay` or `follower`, and `held_by` which.
    """

    name: str
    kind: str
    snapshot_id: int
    time: str | None
    holder: str | None = None
    held_by: str | None = None


@dataclass(frozen=True, slots=True)
class CostRow:
    """What the rows of the table take in the lake, and what their records take in Kafka.

    The bytes of Kafka come from a sample: `sampled` records of the topic, and what they take in the
    broker's log. They are of one copy, and so is `times_smaller`; `replication` says how many copies
    Kafka keeps. Costs are for thirty days, of all copies. `unknown` says why Kafka's part is not known.
    """

    rows: int
    lake_bytes: int
    sampled: int = 0
    log_bytes_per_record: float | None = None
    plain_bytes_per_record: float | None = None
    kafka_bytes: int | None = None
    times_smaller: float | None = None
    replication: int | None = None
    currency: str | None = None
    kafka_cost: float | None = None
    lake_cost: float | None = None
    unknown: str | None = None


@dataclass(frozen=True, slots=True)
class TableDetail:
    """All of it; `exists` says whether the table was created already. `at` is when it was asked."""

    at: str
    exists: bool
    commits: Sequence[CommitRow] = ()
    snapshots: int = 0
    files: FileRows | None = None
    maintenance: MaintenanceRow | None = None
    refs: Sequence[RefRow] = ()
    cost: CostRow | None = None
    problem: str | None = None
