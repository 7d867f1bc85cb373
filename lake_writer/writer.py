"""Landing a topic: batch by batch into the table, the offsets in the same commit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import structlog
from pyspark.sql import functions as F  # noqa: N812 - as everybody names it

from headrace.contract import INGESTION_TS, METADATA
from headrace.errors import Terminal
from headrace.formats.decode import ERROR, RAW, RAW_SCHEMA, add_hygiene, decode
from headrace.iceberg.tables import ensure_table, newest_summaries
from headrace.kafka.cluster import KafkaCluster
from headrace.kafka.spark import read_topics, write_topic
from headrace.locks import hold
from headrace.quarantine import quarantine_records
from headrace.streaming import Job, run_jobs
from lake_writer.offsets import advanced, committed, summary

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import Column, DataFrame, SparkSession

    from headrace.config.load import LoadedLakeTable
    from headrace.config.workspace import Workspace
    from headrace.signals import Drain

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
        self._config = table.config
        self._schema = table.schema or RAW_SCHEMA
        self._decoded_schema = table.schema
        self._landed = Landed()

    def prepare(self) -> None:
        """Check the topic, and make table and quarantine where they are missing."""
        source = self._config.source
        KafkaCluster(self._workspace.cluster(source.cluster)).require_topic(source.topic)
        quarantine = self._config.quarantine
        if quarantine is not None:
            KafkaCluster(self._workspace.cluster(quarantine.cluster)).ensure_topic(quarantine.topic)
        ensure_table(self._workspace, self._config.table, self._schema)

    def run(self, spark: SparkSession, drain: Drain, *, once: bool) -> Landed:
        """Run until everything there is now has landed, or until asked to drain."""
        state = self._workspace.state_dir / "lake_writer" / self._config.name
        source, batch = self._config.source, self._config.batch
        cluster = self._workspace.cluster(source.cluster)
        kafka = read_topics(spark, cluster, [source.topic], source.starting_offsets, batch.max_rows)
        job = Job(self._config.name, kafka, self._land, state / "checkpoint", batch.max_interval)
        what = f"lake writer {self._config.name}"
        with hold(state / "lock", what, "stop that one first"):
            run_jobs([job], drain, once=once)
        return self._landed

    def _land(self, batch: DataFrame, batch_id: int) -> None:
        before = self._committed()
        fresh = batch.filter(_at_or_after(before)) if before else batch
        decoded = self._decode(fresh)
        # One pass for both: reading and decoding again is what a batch's time goes into.
        surveyed = decoded.groupBy(F.col(f"{RAW}.partition").alias("partition")).agg(
            F.max(f"{RAW}.offset").alias("last"),
            F.count_if(F.col(ERROR).isNotNull()).alias("bad"),
        )
        spans = surveyed.collect()
        if not spans:
            return
        last = {int(span["partition"]): int(span["last"]) for span in spans}
        bad = sum(int(span["bad"]) for span in spans)
        if bad:
            self._turn_away_bad(decoded)
        good = decoded.filter(F.col(ERROR).isNull()).drop(RAW, ERROR)
        after = advanced(before, last)
        self._append(good, summary(self._config.name, after))
        rows = self._added_rows()
        dropped = bad if self._config.quarantine is None else 0
        self._landed = Landed(
            self._landed.commits + 1,
            self._landed.rows + rows,
            self._landed.quarantined + bad - dropped,
            self._landed.dropped + dropped,
        )
        log.info("batch landed", batch=batch_id, rows=rows, bad=bad)

    def _committed(self) -> dict[int, int]:
        table = ensure_table(self._workspace, self._config.table, self._schema)
        return committed(self._config.name, newest_summaries(table))

    def _added_rows(self) -> int:
        table = ensure_table(self._workspace, self._config.table, self._schema)
        newest: Mapping[str, str] = next(iter(newest_summaries(table)), {})
        return int(newest.get("added-records", 0))

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

    def _append(self, rows: DataFrame, properties: Mapping[str, str]) -> None:
        # Iceberg's own sort needs a shuffle; within a task the rows are sorted where they are.
        sorted_rows = rows.sortWithinPartitions(
            F.col(INGESTION_TS), F.col(f"{METADATA}.partition"), F.col(f"{METADATA}.offset")
        )
        writer = sorted_rows.writeTo(_quoted(self._config.table.identifier))
        writer = writer.option("fanout-enabled", "true")
        for name, value in properties.items():
            writer = writer.option(f"snapshot-property.{name}", value)
        writer.append()


def _at_or_after(offsets: Mapping[int, int]) -> Column:
    condition = F.expr("true")
    for partition, offset in offsets.items():
        condition = condition & ((F.col("partition") != partition) | (F.col("offset") >= offset))
    return condition


def _quoted(name: str) -> str:
    return ".".join(f"`{part}`" for part in name.split("."))
