"""What a task of a followed table does: read its units between the times of its batch."""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
from msgspec.structs import replace
from pyspark.sql.datasource import InputPartition

from backfill.apps.spark_task import KEPT_S
from backfill.plan.period import Period
from backfill.read.batch_columns import arrivals_of
from backfill.read.source import LakeSource
from headrace.application.ahead_of_time import Ahead, hold_back
from headrace.application.rejected_counts import store_counts
from headrace.config.load import load_workspace
from headrace.jvm.python_workers import settle
from headrace.schema.arrow import for_spark
from stream_app.follow.position import FollowPosition  # noqa: TC001 - as below
from stream_app.follow.table import FollowedTableSettings  # noqa: TC001 - an option is read by its types

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    import pyarrow as pa

    from backfill.plan.units import Unit
    from stream_app.follow.follower import UnitPart


class FollowOptions(msgspec.Struct, frozen=True):
    """What the source of a table is given, as JSON in the option `options`.

    `tables` are all that are followed together, `threshold_us` the bound that they keep. `begin`
    is where a query begins whose checkpoint has no batch yet. With `once` the tables are looked at
    once, and what they hold then is read. `rejected` is a folder for counts.
    """

    workspace: str
    table: str
    columns: tuple[str, ...]
    tables: tuple[FollowedTableSettings, ...]
    max_rows: int
    max_bytes: int
    interval_s: float
    holder: str
    folder: str
    rejected: str
    readers: int
    once: bool
    begin: FollowPosition | None
    ahead: Ahead | None

    @property
    def followed(self) -> FollowedTableSettings:
        """The table of this source."""
        return next(one for one in self.tables if one.name == self.table)


@dataclass
class FollowPartition(InputPartition):
    """What one task reads: units of one snapshot, in a batch that ends at the position of a number."""

    batch: int
    number: int
    snapshot: int
    units: Sequence[Unit]


def units_of(found: Iterable[UnitPart]) -> dict[int, list[Unit]]:
    """Return the units to read of each snapshot; what two parts have of one file is read at once."""
    whole: dict[tuple[int, str, tuple[int, int] | None], Unit] = {}
    by_snapshot: dict[int, list[Unit]] = {}
    for part in found:
        unit = _windowed(part)
        if part.unit.window_us is not None:
            by_snapshot.setdefault(part.snapshot, []).append(unit)
            continue
        key = part.snapshot, unit.path, unit.row_groups
        whole[key] = _together(unit, whole[key]) if key in whole else unit
    for (snapshot, *_), unit in whole.items():
        by_snapshot.setdefault(snapshot, []).append(unit)
    return by_snapshot


def _windowed(part: UnitPart) -> Unit:
    low, end = part.unit.window_us or (part.from_us, part.before_us)
    window = max(low, part.from_us), min(end, part.before_us)
    return replace(part.unit, window_us=window)


def _together(one: Unit, other: Unit) -> Unit:
    """Return a unit over both windows, which meet at the time of the last look."""
    windows = [unit.window_us or (unit.min_ts_us, unit.max_ts_us + 1) for unit in (one, other)]
    return replace(
        one,
        min_ts_us=min(one.min_ts_us, other.min_ts_us),
        max_ts_us=max(one.max_ts_us, other.max_ts_us),
        window_us=(min(low for low, _ in windows), max(end for _, end in windows)),
    )


def rows(options: FollowOptions, share: FollowPartition) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a task's units, as Spark takes them."""
    windows = [unit.window_us for unit in share.units if unit.window_us is not None]
    span = min(low for low, _ in windows), max(end for _, end in windows)
    source = _source(
        options.workspace,
        options.followed,
        options.columns,
        share.snapshot,
        span,
        int(time.monotonic() // KEPT_S),
    )
    settle()
    ahead, rejected = options.ahead, 0
    for batch in (batch for unit in share.units for batch in source.rows(unit)):
        kept = batch
        if ahead is not None:
            held = hold_back(batch, ahead, arrivals_of(batch, options.followed.time_column))
            kept, rejected = held.batch, rejected + len(held.rows)
        yield kept.cast(for_spark(kept.schema))
    work = f"{options.table} {share.batch} {share.snapshot} {share.number}"
    store_counts(Path(options.rejected), work, {"ahead": rejected})


@lru_cache(maxsize=16)
def _source(
    workspace: str,
    followed: FollowedTableSettings,
    columns: tuple[str, ...],
    snapshot: int,
    span: tuple[int, int],
    _while: int,
) -> LakeSource:
    return LakeSource(
        load_workspace(Path(workspace)),
        followed.name,
        Period(*span),
        snapshot_id=snapshot,
        columns=columns,
        time_column=followed.time_column,
    )
