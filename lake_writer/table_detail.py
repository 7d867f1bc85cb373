"""What the control room tells of a lake table: its commits, files and snapshots, and what it costs."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from datetime import timedelta
from itertools import islice
from typing import TYPE_CHECKING, Final

from headrace.contract import FOLLOW_TAG, REPLAY_TAG, REPLAY_TAG_OF
from headrace.errors import HeadraceError, TableMissing
from headrace.http.board import CachedAnswer
from headrace.http.table_rows import (
    CommitRow,
    CostRow,
    FileGroup,
    FileRows,
    MaintenanceRow,
    RefRow,
    TableDetail,
)
from headrace.iceberg.catalog import table_loader
from headrace.iceberg.file_figures import SIZES, SPANS_S, FileFiguresReader
from headrace.iceberg.history import main_line
from headrace.kafka.cluster import KafkaCluster
from headrace.kafka.stored_size import stored_size
from headrace.landing.commit_state import BATCH_MS, SUMMARY, CommitState
from headrace.times import SECOND_US, format_time_us
from lake_writer.compaction import SMALL_SHARE
from lake_writer.maintenance_plan import plan_maintenance

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from pyiceberg.table import Table
    from pyiceberg.table.snapshots import Snapshot

    from headrace.config.lake_table.file import LakeTable
    from headrace.config.workspace.workspace import Workspace
    from headrace.iceberg.file_figures import FileFigures
    from headrace.kafka.stored_size import StoredSize

COMMITS: Final = 15
MOST_REFS: Final = 100
MOST_HOURS: Final = 24
# Beyond this, the oldest manifests are not read: a page answers in a moment.
MOST_FILES: Final = 200_000
# What applications have by default, if none of them reads the table.
USUAL_THRESHOLD: Final = timedelta(minutes=15)
# A sample is read from Kafka: so old it may be.
SAMPLE_AGE_S: Final = 300.0
GB: Final = 1_000_000_000
NO_ANSWER: Final = "the topic's records are being measured; Kafka has not answered yet"


@dataclass(frozen=True, slots=True)
class _Sample:
    size: StoredSize | None
    replication: int


class TableDetails:
    """Asks about one lake table, and remembers what stays as it is: manifests, a sample of its topic.

    `threshold` is that of the replays of the table.
    """

    def __init__(
        self,
        workspace: Workspace,
        config: LakeTable,
        threshold: timedelta = USUAL_THRESHOLD,
        clock_us: Callable[[], int] = lambda: time.time_ns() // 1_000,
    ) -> None:
        self._workspace = workspace
        self._config = config
        self._threshold = threshold
        self._clock_us = clock_us
        self._load: Callable[[], Table] | None = None
        self._small_below = round(SMALL_SHARE * config.table.target_file_size)
        threshold_us = round(threshold.total_seconds() * SECOND_US)
        self._files = FileFiguresReader(self._small_below, threshold_us, MOST_FILES)
        self._why_unknown = NO_ANSWER
        self._sample = CachedAnswer(
            "sample", self._measure, most_age_s=SAMPLE_AGE_S, first_patience_s=1.0
        )

    def ask(self) -> TableDetail:
        """Return all of it, with the reason where the catalog does not answer."""
        now_us = self._clock_us()
        nothing = TableDetail(format_time_us(now_us), exists=True)
        try:
            self._load = self._load or table_loader(self._workspace, self._config.table.identifier)
            table = self._load()
            figures = self._files.read(table)
        except TableMissing:
            return replace(nothing, exists=False)
        except HeadraceError as problem:
            return replace(nothing, problem=problem.message)
        except Exception as problem:  # noqa: BLE001 - what a catalog's client raises differs, and may name a secret
            why = f"the catalog or the table's files did not answer: {type(problem).__name__}"
            return replace(nothing, problem=why)
        plan = plan_maintenance(table, figures, now_us)
        return TableDetail(
            nothing.at,
            exists=True,
            commits=[commit_row(one) for one in islice(main_line(table), COMMITS)],
            snapshots=len(table.metadata.snapshots),
            files=file_rows(figures, self._small_below, self._threshold),
            maintenance=MaintenanceRow(
                [format_time_us(one) for one in plan.hours[:MOST_HOURS]],
                plan.small_files,
                plan.expiring,
                plan.manifests,
                len(plan.hours),
            ),
            refs=list(ref_rows(table)),
            cost=self._cost(figures),
        )

    def _measure(self) -> _Sample | None:
        source = self._config.source
        try:
            kafka = KafkaCluster(self._workspace.cluster(source.cluster))
            spans = kafka.offsets(source.topic)
            size = stored_size(kafka.properties, source.topic, spans)
            return _Sample(size, kafka.replication(source.topic))
        except HeadraceError as problem:
            self._why_unknown = problem.message
            return None

    def _cost(self, figures: FileFigures) -> CostRow:
        row = CostRow(figures.rows, figures.bytes)
        prices = self._workspace.prices
        if prices is not None:
            lake_cost = figures.bytes / GB * prices.lake_gb_month
            row = replace(row, currency=prices.currency, lake_cost=lake_cost)
        if not figures.rows:
            return replace(row, unknown="the table has no rows yet")
        if figures.unread_files:
            return replace(row, unknown=f"the table has more than {MOST_FILES:,} files")
        sample = self._sample.value()
        if sample is None:
            return replace(row, unknown=self._why_unknown)
        if sample.size is None:
            return replace(row, unknown="the topic holds no records that could be measured")
        size = sample.size
        kafka_bytes = round(size.log_bytes / size.records * figures.rows)
        replication = sample.replication
        if prices is not None:
            replication = prices.kafka_replication or replication
            kafka_cost = kafka_bytes * replication / GB * prices.kafka_gb_month
            row = replace(row, kafka_cost=kafka_cost)
        return replace(
            row,
            sampled=size.records,
            log_bytes_per_record=size.log_bytes / size.records,
            plain_bytes_per_record=size.plain_bytes / size.records,
            kafka_bytes=kafka_bytes,
            times_smaller=kafka_bytes / figures.bytes,
            replication=replication,
        )


def commit_row(snapshot: Snapshot) -> CommitRow:
    """Return what a snapshot says of itself."""
    said = {} if snapshot.summary is None else snapshot.summary.additional_properties
    number = _numbers(said)
    took_ms = number(BATCH_MS)
    return CommitRow(
        snapshot.snapshot_id,
        format_time_us(snapshot.timestamp_ms * 1_000),
        "?" if snapshot.summary is None else snapshot.summary.operation.value,
        _made_by(said),
        number("added-records"),
        number("deleted-records"),
        number("added-data-files"),
        number("deleted-data-files"),
        number("added-files-size"),
        None if took_ms is None else took_ms / 1_000,
    )


def _numbers(said: Mapping[str, str]) -> Callable[[str], int | None]:
    def number(name: str) -> int | None:
        text = said.get(name, "")
        return int(text) if text.isdecimal() else None

    return number


def _made_by(said: Mapping[str, str]) -> str | None:
    own = said.get(SUMMARY)
    if own is not None:
        try:
            return f"lake writer {CommitState.from_json(own).identity.writer}"
        except HeadraceError:
            return "a lake writer"
    return said.get("engine-name") or said.get("app-id")


def file_rows(figures: FileFigures, small_below: int, threshold: timedelta) -> FileRows:
    """Return the counts of a table's files as a page shows them."""

    def groups(bounds: Iterable[int], counts: Iterable[list[int]]) -> list[FileGroup]:
        return [
            FileGroup(up_to, files, size)
            for up_to, (files, size) in zip((*bounds, None), counts, strict=True)
        ]

    return FileRows(
        figures.files,
        figures.rows,
        figures.bytes,
        groups(SIZES, figures.by_size),
        groups(SPANS_S, figures.by_span),
        figures.small_files,
        small_below,
        figures.wide_files,
        figures.wide_bytes,
        round(threshold.total_seconds()),
        figures.without_bounds,
        None if figures.first_us is None else format_time_us(figures.first_us),
        None if figures.last_us is None else format_time_us(figures.last_us),
        figures.unread_files,
    )


def ref_rows(table: Table) -> Iterable[RefRow]:
    """Return the tags and branches of a table beside its main line, the newest snapshot first."""
    times = {one.snapshot_id: one.timestamp_ms * 1_000 for one in table.metadata.snapshots}
    others = [(name, ref) for name, ref in table.metadata.refs.items() if name != "main"]
    others.sort(key=lambda one: (-times.get(one[1].snapshot_id, 0), one[0]))
    for name, ref in others[:MOST_REFS]:
        at_us = times.get(ref.snapshot_id)
        row = RefRow(
            name,
            ref.snapshot_ref_type.value,
            ref.snapshot_id,
            None if at_us is None else format_time_us(at_us),
        )
        if name.startswith(REPLAY_TAG):
            run, _, _ = name.removeprefix(REPLAY_TAG).partition(REPLAY_TAG_OF)
            row = replace(row, holder="replay", held_by=run)
        elif name.startswith(FOLLOW_TAG):
            # The application, its checkpoint and the snapshot.
            app = name.removeprefix(FOLLOW_TAG).rsplit("-", 2)[0]
            row = replace(row, holder="follower", held_by=app)
        yield row
