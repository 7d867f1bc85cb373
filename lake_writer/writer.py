"""Landing a topic: batch by batch into the table, the offsets in the same commit."""

from __future__ import annotations

import shutil
import threading
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import structlog

from headrace.iceberg.append import remove_quietly
from headrace.iceberg.catalog import table_loader
from headrace.iceberg.table_files import location_of
from headrace.kafka.cluster import KafkaCluster
from headrace.kafka.leaders import NO_EPOCH, Reached
from headrace.kafka.settings import topic_stream
from headrace.kafka.source_topic import SourceTopic, TopicRecreated, require_not_shorter
from headrace.landing.commit_state import Identity
from headrace.landing.commits import TableBatch, TableCommits, reader_of
from headrace.landing.completeness import Ends, NeverAhead
from headrace.locks import hold
from headrace.queries.checkpoint import batch_ends
from headrace.queries.streaming import Job
from headrace.queries.supervision import raise_failures, supervise
from lake_writer.following import Following
from lake_writer.idle import every
from lake_writer.plan import landing_plan
from lake_writer.slices import ASSUMED_BYTES, commits_for, sampled_bytes, slices, tasks_for
from lake_writer.task import LandingWork, Written, write_files

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

    from headrace.config.load import LoadedLakeTable
    from headrace.config.workspace.workspace import Workspace
    from headrace.kafka.leaders import TopicEnds
    from headrace.signals import Drain

# Nobody waits for news of a topic in which nothing happens by the tenth of a second.
LEAST_IDLE_S = 5.0
log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Landed:
    """What a run brought into the table."""

    commits: int = 0
    rows: int = 0
    quarantined: int = 0
    dropped: int = 0


class LakeWriter:
    """Lands one topic in one table."""

    def __init__(self, workspace: Workspace, table: LoadedLakeTable) -> None:
        self._workspace = workspace
        self._table = table
        self._config = table.config
        self._kafka = KafkaCluster(workspace.cluster(self._config.source.cluster))
        source = self._config.source
        self._source = SourceTopic(self._kafka, source.topic, source.on_data_loss)
        self._reader = reader_of(self._config.name)
        self._state = workspace.state_dir / "lake_writer" / self._config.name
        self._load = table_loader(workspace, self._config.table.identifier)
        self._commits = TableCommits(
            self._load,
            self._config.table.identifier,
            Identity.of_this_process(self._config.name, self._config.source.topic),
        )
        self._following = Following(workspace, table, self._load)
        self._starts: dict[int, int] = {}
        self._epochs: dict[int, int] = {}
        self._topic_id = ""
        self._clock = NeverAhead()
        self._record_bytes: float = ASSUMED_BYTES
        self._landed = Landed()
        # One of them works on the table: a batch, or what goes on between batches.
        self._turn = threading.Lock()

    def prepare(self) -> None:
        """Check the topic, and make the table or bring it to the schema."""
        self._kafka.require_topic(self._config.source.topic)
        self._following.begin()

    def run(self, spark: SparkSession, drain: Drain, *, once: bool) -> Landed:
        """Run until everything there is now has landed, or until asked to drain.

        What fails for now is tried again from where the table then is, later each time.
        """
        name = self._config.name
        idle_s = max(LEAST_IDLE_S, self._config.batch.max_interval.total_seconds())
        with (
            hold(self._state / "lock", f"lake writer {name}", "stop that one first"),
            every(idle_s, self._confirm),
        ):
            ended = supervise({name: lambda: self._job(spark)}, drain, once=once)
        raise_failures(ended)
        return self._landed

    def _job(self, spark: SparkSession) -> Job:
        """Return the query, to be started from where the table is; and again after a failure."""
        source, batch = self._config.source, self._config.batch
        self._plan = landing_plan(self._workspace, self._table, self._following.values)
        with self._turn:
            self._resume()
        cluster = self._workspace.cluster(source.cluster)
        rows = topic_stream(spark, cluster, source.topic, self._starts, batch.max_rows)
        return Job(self._config.name, rows, self._land, self._checkpoint, batch.max_interval)

    def _confirm(self) -> None:
        """Say that the table is complete up to now, where all that the topic holds has landed."""
        # A batch at work tells it as well; who waited for one would be waited for at the end.
        if not self._turn.acquire(blocking=False):
            return
        try:
            self._see_ends()
            self._commits.confirm()
        finally:
            self._turn.release()

    @property
    def _checkpoint(self) -> Path:
        return self._state / "checkpoint"

    def _resume(self) -> None:
        """Begin where the table ends; a checkpoint that is left over has no say in it."""
        self._topic_id = self._source.identity()
        state = self._commits.resume(self._topic_id)
        self._commits.completeness = self._commits.completeness.not_after(self._clock.now_us())
        held = self._see_ends()
        marked = {} if state is None else state.next_offsets
        require_not_shorter(self._reader, self._source.topic, marked, held.spans)
        # A partition that came after the first commit is read from its beginning all the same.
        where = "earliest" if marked else self._config.source.starting_offsets
        self._starts = held.starting_offsets(where) | marked
        spans = {} if state is None else state.spans
        self._epochs = {number: span.epoch for number, span in spans.items()}
        self._lost(held)
        self._commits.begin(self._starts, held.epochs_at(self._starts))
        if self._checkpoint.exists():
            shutil.rmtree(self._checkpoint)

    def _see_ends(self) -> TopicEnds:
        """Ask what the topic holds: when all of that has landed, the table is complete up to now."""
        now_us = self._clock.now_us()
        held = self._kafka.ends(self._source.topic)
        require_not_shorter(self._reader, self._source.topic, self._starts, held.spans)
        if self._kafka.replaced(self._source.topic, self._reached(), held):
            # A batch deals with it; what the topic holds is not what the table is to have.
            return held
        ends = Ends(now_us, held.next_offsets)
        self._commits.completeness = self._commits.completeness.seen(ends)
        return held

    def _land(self, batch: DataFrame, batch_id: int) -> None:
        with self._turn:
            self._land_alone(batch, batch_id)

    def _land_alone(self, batch: DataFrame, batch_id: int) -> None:
        if self._source.identity() != self._topic_id:
            raise TopicRecreated(self._reader, self._source.topic)
        held = self._see_ends()
        # A partition that is new since the start is read from its beginning.
        self._starts = held.starting_offsets("earliest") | self._starts
        lost = self._lost(held)
        ends = batch_ends(self._checkpoint, batch_id, self._config.source.topic)
        firsts = self._starts | {number: gap.stop for number, gap in lost.items()}
        ranges = {number: range(firsts[number], end) for number, end in ends.items()}
        if not lost and not any(ranges.values()):
            # Without a checkpoint Spark begins with a batch of nothing.
            self._commits.confirm()
            return
        for part in self._parts(ranges):
            written = self._write(batch.sparkSession, part) if part else []
            files = [file for one in written for file in one.files]
            ends = firsts | {number: span.stop for number, span in part.items()}
            epochs = held.epochs_at(ends)
            self._commits.commit(TableBatch(files, self._starts, ends, lost, epochs))
            self._starts, self._epochs, firsts, lost = ends, epochs, ends, {}
            self._count(batch_id, written)

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

    def _parts(self, ranges: Mapping[int, range]) -> Iterator[Mapping[int, range]]:
        """Yield what is committed together: a batch, or as many bytes of it as are allowed."""
        most = self._config.batch.max_bytes
        if most is not None and not self._landed.commits:
            source = self._config.source
            properties = self._workspace.cluster(source.cluster).client_properties()
            self._record_bytes = sampled_bytes(properties, source.topic, ranges)
        while True:
            records = sum(map(len, ranges.values()))
            commits = commits_for(records, self._record_bytes, most)
            part = next(iter(slices(ranges, commits)), {})
            yield part
            ranges = {
                number: range(part[number].stop, span.stop) if number in part else span
                for number, span in ranges.items()
            }
            if not any(ranges.values()):
                return

    def _write(self, spark: SparkSession, ranges: Mapping[int, range]) -> list[Written]:
        """Let tasks write a batch's files; the DataFrame of Spark's own is never read."""
        records = sum(map(len, ranges.values()))
        cores = spark.sparkContext.defaultParallelism
        table = self._following.before_batch(self._load())
        plan = replace(self._plan, values=self._following.values)
        location = location_of(table, self._config.table.target_file_size)
        number = tasks_for(records, self._record_bytes, cores)
        works = [LandingWork(plan, location, part) for part in slices(ranges, number)]
        written = write_files(spark, works)
        problems = [one.problem for one in written if one.problem is not None]
        if problems:
            # Certainly nobody's: no commit has heard of them.
            remove_quietly(table.io, [file.file_path for one in written for file in one.files])
            raise problems[0]
        return written

    def _count(self, batch_id: int, written: Sequence[Written]) -> None:
        rows = sum(file.record_count for one in written for file in one.files)
        records, quarantined, dropped = (
            sum(getattr(one, name) for one in written)
            for name in ("records", "quarantined", "dropped")
        )
        if records:
            self._record_bytes = sum(one.bytes for one in written) / records
        self._landed = Landed(
            self._landed.commits + 1,
            self._landed.rows + rows,
            self._landed.quarantined + quarantined,
            self._landed.dropped + dropped,
        )
        log.info("batch landed", batch=batch_id, rows=rows, bad=quarantined + dropped)
