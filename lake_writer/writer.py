"""Landing a topic: batch by batch into the table, the offsets in the same commit."""

from __future__ import annotations

import time
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

import structlog

from headrace.iceberg.append import remove_quietly
from headrace.iceberg.catalog import table_loader
from headrace.iceberg.table_files import location_of
from headrace.jvm.tasks import TaskSlots
from headrace.kafka.cluster import KafkaCluster
from headrace.kafka.leaders import NO_EPOCH, Reached
from headrace.kafka.positions import capped
from headrace.kafka.source_topic import SourceTopic
from headrace.landing.commit_state import Identity
from headrace.landing.commits import TableBatch, TableCommits, reader_of
from headrace.landing.completeness import Ends, NeverAhead
from headrace.line.job import Batch
from headrace.line.line import Line
from headrace.line.run import run_lines
from headrace.locks import hold
from lake_writer.facts import TableFacts
from lake_writer.following import Following
from lake_writer.landed import Landed, Shown
from lake_writer.plan import landing_plan
from lake_writer.slices import ASSUMED_BYTES, part_of, sampled_bytes, slices, tasks_for
from lake_writer.table_detail import TableDetails
from lake_writer.task import LandingWork

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from datetime import timedelta
    from pathlib import Path

    from pyspark.sql import SparkSession

    from headrace.config.load import LoadedLakeTable
    from headrace.config.workspace.workspace import Workspace
    from headrace.kafka.leaders import TopicEnds
    from headrace.landing.completeness import Completeness
    from headrace.landing.totals import TableTotals
    from headrace.signals import Drain
    from lake_writer.task import Written

# Nobody waits for news of a topic in which nothing happens by the tenth of a second.
LEAST_IDLE_S = 5.0
log = structlog.get_logger(__name__)


class LakeWriter:
    """Lands one topic in one table: a command of its own."""

    def __init__(
        self, workspace: Workspace, table: LoadedLakeTable, kafka: KafkaCluster | None = None
    ) -> None:
        self._workspace = workspace
        self._config = table.config
        kafka = kafka or KafkaCluster(workspace.cluster(table.config.source.cluster))
        self._job = LandingJob(workspace, table, kafka)

    def prepare(self) -> None:
        """Check the topic, and make the table or bring it to the schema."""
        self._job.prepare()

    def run(
        self,
        spark: SparkSession,
        drain: Drain,
        *,
        once: bool,
        show: Callable[[TableFacts], object] = lambda _facts: None,
    ) -> Landed:
        """Run until everything there is now has landed, or until asked to drain.

        What fails for now is tried again from where the table then is, later each time.
        """
        with self.held(TaskSlots(spark), once=once) as job:
            checkpoint = self._state / "checkpoint"
            line = Line(job.name, [job], checkpoint, once=once)
            details = TableDetails(self._workspace, self._config)
            show(TableFacts(job.name, job.table, line.standings, details))
            run_lines([line], spark, drain)
        return job.landed

    @contextmanager
    def held(self, slots: Callable[[], int], *, once: bool) -> Iterator[LandingJob]:
        """Hold the table against a second writer here; its line runs so many tasks at a time."""
        job = self._job
        job.once, job.slots = once, slots
        with hold(self._state / "lock", f"lake writer {job.name}", "stop that one first"):
            yield job

    @property
    def _state(self) -> Path:
        return self._workspace.state_dir / "lake_writer" / self._job.name


class LandingJob:
    """A job of the line: one topic, from where its table is on."""

    def __init__(self, workspace: Workspace, table: LoadedLakeTable, kafka: KafkaCluster) -> None:
        config = table.config
        self.name = config.name
        self.once = False
        self.slots: Callable[[], int] = lambda: 1
        self.landed = Landed()
        self.shown = Shown()
        self._workspace = workspace
        self._table = table
        self._config = config
        self._kafka = kafka
        self._source = SourceTopic(self._kafka, config.source.topic, config.source.on_data_loss)
        self._reader = reader_of(config.name)
        self._load = table_loader(workspace, config.table.identifier)
        self._commits = TableCommits(
            self._load,
            config.table.identifier,
            Identity.of_this_process(config.name, config.source.topic),
        )
        self._following = Following(workspace, table, self._load)
        self._starts: dict[int, int] = {}
        self._epochs: dict[int, int] = {}
        self._until: Mapping[int, int] | None = None
        self._topic_id = ""
        self._clock = NeverAhead()
        self._confirmed_at_s = time.monotonic()
        self._record_bytes: float | None = None
        # The batch that is with the tasks, without its files.
        self._batch = TableBatch([], {}, {})

    @property
    def interval(self) -> timedelta:
        """The time between two commits."""
        return self._config.batch.max_interval

    @property
    def is_done(self) -> bool:
        """Whether all that the topic had when it was first looked at has landed."""
        until = self._until or {}
        return all(self._starts.get(number, 0) >= end for number, end in until.items())

    @property
    def table(self) -> str:
        """The name of its table."""
        return self._config.table.identifier

    @property
    def totals(self) -> TableTotals:
        """What the table has, as of the last commit."""
        return self._commits.totals

    @property
    def completeness(self) -> Completeness:
        """Up to when the table has everything."""
        return self._commits.completeness

    @property
    def lag(self) -> int | None:
        """How many offsets were behind the table when the topic was looked at last."""
        if not self.shown.ends:
            return None
        at = dict(self._starts)
        return sum(max(0, end - at.get(number, 0)) for number, end in self.shown.ends.items())

    def prepare(self) -> None:
        """Check the topic, and make the table or bring it to the schema."""
        self._kafka.require_topic(self._config.source.topic)
        self._following.begin()

    def begin(self) -> None:
        """Begin where the table ends."""
        self._plan = landing_plan(self._workspace, self._table, self._following.values)
        self._topic_id = self._source.identity()
        state = self._commits.resume(self._topic_id)
        self._commits.completeness = self._commits.completeness.not_after(self._clock.now_us())
        spans = {} if state is None else state.spans
        marked = {} if state is None else state.next_offsets
        self._starts = dict(marked)
        self._epochs = {number: span.epoch for number, span in spans.items()}
        held = self._see_ends()
        # A partition that came after the first commit is read from its beginning all the same.
        where = "earliest" if marked else self._config.source.starting_offsets
        self._starts = held.starting_offsets(where) | marked
        self._lost(held)
        self._commits.begin(self._starts, held.epochs_at(self._starts))
        if self.once and self._until is None:
            self._until = held.next_offsets

    def next_batch(self) -> Batch | None:
        """Return the ranges of the next commit, as tasks write their files."""
        self.shown.planned_at_s = time.monotonic()
        held = self._see_ends()
        # A partition that is new since the start is read from its beginning.
        self._starts = held.starting_offsets("earliest") | self._starts
        there = held.next_offsets
        if self._until is not None:
            there = {number: min(end, self._until.get(number, 0)) for number, end in there.items()}
        lost = self._lost(held)
        firsts = self._starts | {number: gap.stop for number, gap in lost.items()}
        ranges = {number: range(firsts[number], end) for number, end in there.items()}
        if not lost and not any(ranges.values()):
            self._confirm()
            return None
        part = self._part(ranges)
        ends = firsts | {number: span.stop for number, span in part.items()}
        self._batch = TableBatch([], self._starts, ends, lost, held.epochs_at(ends))
        lag = sum(map(len, ranges.values())) - sum(map(len, part.values()))
        return Batch(self._works(part) if part else [], ends, lag)

    def finish(self, answers: Sequence[Written]) -> None:
        """Commit the files of a batch, and with them how far the table is."""
        files = [file for one in answers for file in one.files]
        problems = [one.problem for one in answers if one.problem is not None]
        if problems:
            # Certainly nobody's: no commit has heard of them.
            remove_quietly(self._load().io, [file.file_path for file in files])
            raise problems[0]
        with self.shown.commits.timed():
            batch = replace(self._batch, files=files, took_ms=self.shown.took_ms)
            committed = self._commits.commit(batch)
        self._starts, self._epochs = dict(self._batch.ends), dict(self._batch.epochs)
        self._confirmed_at_s = time.monotonic()
        self._count(answers, committed.snapshot)

    def _confirm(self) -> None:
        """Say now and again that the table is complete, where nothing is left to land."""
        idle_s = max(LEAST_IDLE_S, self.interval.total_seconds())
        if self.once or time.monotonic() - self._confirmed_at_s >= idle_s:
            self._commits.confirm()
            self._confirmed_at_s = time.monotonic()

    def _see_ends(self) -> TopicEnds:
        """Ask what the topic holds: when all of that has landed, the table is complete up to now."""
        now_us = self._clock.now_us()
        held = self._source.look(self._reader, self._topic_id, self._starts)
        self.shown.ends = held.next_offsets
        if self._kafka.replaced(self._source.topic, self._reached(), held):
            # A batch deals with it; what the topic holds is not what the table is to have.
            return held
        ends = Ends(now_us, held.next_offsets)
        self._commits.completeness = self._commits.completeness.seen(ends)
        return held

    def _lost(self, held: TopicEnds) -> dict[int, range]:
        """Return what the topic lost before it landed; raise where that is not accepted.

        Offsets that landed, and hold other records since, are lost as well.
        """
        gone = self._source.lost(self._reader, self._starts, held.spans)
        return gone | self._source.replaced(self._reader, self._reached(), held)

    def _reached(self) -> dict[int, Reached]:
        """Return what has landed of each partition, with the epoch of a leader that had it."""
        return {
            number: Reached(at, self._epochs.get(number, NO_EPOCH))
            for number, at in self._starts.items()
        }

    def _part(self, ranges: Mapping[int, range]) -> Mapping[int, range]:
        """Return what is committed together: as many rows and bytes as are allowed."""
        batch, source = self._config.batch, self._config.source
        topic = source.topic
        firsts = {number: span.start for number, span in ranges.items()}
        stops = {number: span.stop for number, span in ranges.items()}
        ends = capped({topic: firsts}, {topic: stops}, batch.max_rows)[topic]
        bounded = {number: range(span.start, ends[number]) for number, span in ranges.items()}
        if batch.max_bytes is None:
            return {number: span for number, span in bounded.items() if span}
        if self._record_bytes is None:
            properties = self._workspace.cluster(source.cluster).client_properties()
            self._record_bytes = sampled_bytes(properties, topic, bounded)
        return part_of(bounded, self._record_bytes, batch.max_bytes)

    def _works(self, ranges: Mapping[int, range]) -> list[LandingWork]:
        """Return the work of tasks that write a batch's files."""
        records = sum(map(len, ranges.values()))
        table = self._following.before_batch(self._load())
        plan = replace(self._plan, values=self._following.values)
        location = location_of(table, self._config.table.target_file_size)
        number = tasks_for(records, self._record_bytes or ASSUMED_BYTES, self.slots())
        return [LandingWork(plan, location, part) for part in slices(ranges, number)]

    def _count(self, answers: Sequence[Written], snapshot: int) -> None:
        rows = sum(file.record_count for one in answers for file in one.files)
        records, size, quarantined, dropped = (
            sum(getattr(one, name) for one in answers)
            for name in ("records", "bytes", "quarantined", "dropped")
        )
        if records:
            self._record_bytes = size / records
        self.landed = Landed(
            self.landed.commits + 1,
            self.landed.rows + rows,
            self.landed.quarantined + quarantined,
            self.landed.dropped + dropped,
        )
        self.shown.count(answers)
        log.info(
            "batch landed",
            table=self.name,
            batch=self.landed.commits,
            snapshot=snapshot,
            rows=rows,
            bad=quarantined + dropped,
        )
