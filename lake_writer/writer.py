"""Landing a topic: batch by batch into the table, the offsets in the same commit."""

from __future__ import annotations

import json
import shutil
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

import structlog
from pyspark.sql import Observation
from pyspark.sql import functions as F  # noqa: N812 - as everybody names it

from headrace.contract import INGESTION_TS, METADATA
from headrace.errors import Terminal
from headrace.formats.decode import ERROR, RAW, add_hygiene, decode
from headrace.iceberg.spark_files import write_uncommitted
from headrace.iceberg.tables import ensure_table, table_loader
from headrace.kafka.cluster import KafkaCluster
from headrace.kafka.spark import read_topics, write_topic
from headrace.landing.commits import Batch, TableCommits
from headrace.landing.completeness import Ends
from headrace.landing.marks import Identity
from headrace.locks import hold
from headrace.quarantine import quarantine_records
from headrace.records.raw import RAW_SCHEMA
from headrace.streaming import Job, run_jobs
from lake_writer.places import batch_ends, starting_places

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from pyiceberg.manifest import DataFile
    from pyspark.sql import DataFrame, SparkSession

    from headrace.config.load import LoadedLakeTable
    from headrace.config.workspace import Workspace
    from headrace.signals import Drain

log = structlog.get_logger(__name__)
BAD = "bad"


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
        self._config = table.config
        self._schema = table.schema or RAW_SCHEMA
        self._decoded_schema = table.schema
        self._kafka = KafkaCluster(workspace.cluster(self._config.source.cluster))
        self._state = workspace.state_dir / "lake_writer" / self._config.name
        self._commits = TableCommits(
            table_loader(workspace, self._config.table.identifier),
            self._config.table.identifier,
            Identity.of_this_process(self._config.name, self._config.source.topic),
        )
        self._starts: Mapping[int, int] = {}
        self._landed = Landed()

    def prepare(self) -> None:
        """Check the topic, and make table and quarantine where they are missing."""
        self._kafka.require_topic(self._config.source.topic)
        quarantine = self._config.quarantine
        if quarantine is not None:
            KafkaCluster(self._workspace.cluster(quarantine.cluster)).ensure_topic(quarantine.topic)
        ensure_table(self._workspace, self._config.table, self._schema)

    def run(self, spark: SparkSession, drain: Drain, *, once: bool) -> Landed:
        """Run until everything there is now has landed, or until asked to drain."""
        source, batch = self._config.source, self._config.batch
        what = f"lake writer {self._config.name}"
        with hold(self._state / "lock", what, "stop that one first"):
            self._resume()
            starts = json.dumps({source.topic: self._starts})
            cluster = self._workspace.cluster(source.cluster)
            kafka = read_topics(
                spark, cluster, [source.topic], starts, maxOffsetsPerTrigger=str(batch.max_rows)
            )
            job = Job(self._config.name, kafka, self._land, self._checkpoint, batch.max_interval)
            run_jobs([job], drain, once=once)
        return self._landed

    @property
    def _checkpoint(self) -> Path:
        return self._state / "checkpoint"

    def _resume(self) -> None:
        """Begin where the table ends; a checkpoint that is left over has no say in it."""
        mark = self._commits.resume()
        held = self._see_ends()
        source = self._config.source
        marked = {} if mark is None else mark.next_offsets
        self._starts = starting_places(source.topic, marked, held, source.starting_offsets)
        if self._checkpoint.exists():
            shutil.rmtree(self._checkpoint)

    def _see_ends(self) -> Mapping[int, range]:
        """Ask what the topic holds: when all of that has landed, the table is complete up to now."""
        now_us = time.time_ns() // 1_000
        held = self._kafka.offsets(self._config.source.topic)
        ends = Ends(now_us, {number: span.stop for number, span in held.items()})
        self._commits.completeness = self._commits.completeness.seen(ends)
        return held

    def _land(self, batch: DataFrame, batch_id: int) -> None:
        # A partition that is new since the start is read from its beginning.
        begins = {number: span.start for number, span in self._see_ends().items()}
        ends = batch_ends(self._checkpoint, batch_id, self._config.source.topic)
        starts = {**begins, **self._starts}
        if ends == {number: starts[number] for number in ends}:
            # Without a checkpoint Spark begins with a batch of nothing.
            self._commits.confirm()
            return
        decoded = self._decode(batch)
        counted = Observation()
        # Counted on the way: another pass would fetch and decode everything again.
        good = decoded.observe(counted, F.count_if(F.col(ERROR).isNotNull()).alias(BAD))
        files = self._write(good.filter(F.col(ERROR).isNull()).drop(RAW, ERROR))
        bad = int(counted.get[BAD])
        if bad:
            self._turn_away_bad(decoded)
        self._commits.commit(Batch(files, starts, ends))
        self._starts = {**starts, **ends}
        rows = sum(file.record_count for file in files)
        dropped = bad if self._config.quarantine is None else 0
        self._landed = Landed(
            self._landed.commits + 1,
            self._landed.rows + rows,
            self._landed.quarantined + bad - dropped,
            self._landed.dropped + dropped,
        )
        log.info("batch landed", batch=batch_id, rows=rows, bad=bad)

    def _decode(self, batch: DataFrame) -> DataFrame:
        source = self._config.source
        region = self._workspace.cluster(source.cluster).region
        decoded = decode(batch, self._decoded_schema, source.format, region)
        return add_hygiene(decoded, self._config.hygiene)

    def _turn_away_bad(self, decoded: DataFrame) -> None:
        quarantine = self._config.quarantine
        if quarantine is not None:
            # Bad records first, the commit after: a crash repeats them, and loses none.
            records = quarantine_records(decoded, self._config.name)
            write_topic(records, self._workspace.cluster(quarantine.cluster), quarantine.topic)
        elif self._config.hygiene.on_bad_record == "fail":
            bad = decoded.filter(F.col(ERROR).isNotNull())
            first = bad.select(f"{RAW}.topic", f"{RAW}.partition", f"{RAW}.offset", ERROR).head()
            place = f"{first[0]}-{first[1]} @ {first[2]}: {first[3]}" if first else ""
            raise Terminal(
                f"lake writer {self._config.name} stops at a bad record: {place}",
                "mend or skip it, or choose on_bad_record: quarantine",
            )

    def _write(self, rows: DataFrame) -> list[DataFile]:
        # Iceberg's own sort needs a shuffle; within a task the rows are sorted where they are.
        sorted_rows = rows.sortWithinPartitions(
            F.col(INGESTION_TS), F.col(f"{METADATA}.partition"), F.col(f"{METADATA}.offset")
        )
        options = {"fanout-enabled": "true", "use-table-distribution-and-ordering": "false"}
        return write_uncommitted(sorted_rows, _quoted(self._config.table.identifier), options)


def _quoted(name: str) -> str:
    return ".".join(f"`{part}`" for part in name.split("."))
