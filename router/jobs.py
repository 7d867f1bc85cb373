"""One job per output, and one for the quarantine, each with its own checkpoint."""

from __future__ import annotations

import threading
from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING

import structlog
from pyspark.sql import Observation
from pyspark.sql import functions as F  # noqa: N812 - as everybody names it

from headrace.errors import Terminal, UsageError
from headrace.formats.decode import ERROR, RAW, add_hygiene, decode
from headrace.kafka.cluster import KafkaCluster
from headrace.kafka.spark import read_topics, write_topic
from headrace.locks import hold
from headrace.quarantine import quarantine_records
from headrace.streaming import Job, run_jobs
from router.ledger import Counts
from router.records import is_good, output_records, passes

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

    from headrace.config.load import LoadedStream
    from headrace.config.stream import Output
    from headrace.config.workspace import Cluster, Workspace
    from headrace.signals import Drain

QUARANTINE = "quarantine"
PASSES = "__passes__"
log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Route:
    """Where one job writes, and what it makes of a batch."""

    name: str
    cluster: Cluster
    topic: str
    send: Callable[[DataFrame], Counts]


class StreamRouter:
    """A stream's jobs, of all outputs or of some."""

    def __init__(self, workspace: Workspace, stream: LoadedStream, only: Sequence[str]) -> None:
        self._workspace = workspace
        self._stream = stream
        self._routes = self._all_routes(only)
        self._lock = threading.Lock()
        self._counts: dict[str, Counts] = {}

    def prepare(self) -> None:
        """Check the source and make what is missing of the targets, before a JVM starts."""
        source = self._stream.config.source
        KafkaCluster(self._workspace.cluster(source.cluster)).require_topic(source.topic)
        for route in self._routes:
            if KafkaCluster(route.cluster).ensure_topic(route.topic):
                log.info("created a topic", topic=route.topic, cluster=route.cluster.name)

    def run(self, spark: SparkSession, drain: Drain, *, once: bool) -> Mapping[str, Counts]:
        """Run until everything there is now is routed, or until asked to drain."""
        name = self._stream.config.name
        with ExitStack() as locks:
            for route in self._routes:
                what = f"output {route.name} of stream {name}"
                lock = self._state(route.name) / "lock"
                locks.enter_context(hold(lock, what, "stop that router first"))
            run_jobs([self._job(spark, route) for route in self._routes], drain, once=once)
        return {route.name: self._counts.get(route.name, Counts()) for route in self._routes}

    def _all_routes(self, only: Sequence[str]) -> list[Route]:
        outputs = chosen_outputs(self._stream, only)
        routes = [
            Route(
                output.name,
                self._workspace.cluster(output.sink.cluster),
                output.sink.topic,
                lambda batch, output=output: self._send(batch, output),  # type: ignore[misc]  # a default binds the loop's value
            )
            for output in outputs
        ]
        quarantine = self._stream.config.quarantine
        if quarantine is not None:
            cluster = self._workspace.cluster(quarantine.cluster)
            routes.append(Route(QUARANTINE, cluster, quarantine.topic, self._send_quarantine))
        return routes

    def _job(self, spark: SparkSession, route: Route) -> Job:
        source = self._stream.config.source
        cluster = self._workspace.cluster(source.cluster)
        kafka = read_topics(spark, cluster, [source.topic], source.starting_offsets)

        def handle(batch: DataFrame, batch_id: int) -> None:
            counts = route.send(self._decoded(batch)).checked()
            with self._lock:
                self._counts[route.name] = self._counts.get(route.name, Counts()) + counts
            log.info("batch routed", output=route.name, batch=batch_id, **shown(counts))

        checkpoint = self._state(route.name) / "checkpoint"
        return Job(route.name, kafka, handle, checkpoint, self._stream.config.trigger)

    def _state(self, output: str) -> Path:
        return self._workspace.state_dir / "router" / self._stream.config.name / output

    def _decoded(self, batch: DataFrame) -> DataFrame:
        config = self._stream.config
        region = self._workspace.cluster(config.source.cluster).region
        decoded = decode(batch, self._stream.schema, config.source.format, region)
        return add_hygiene(decoded, config.hygiene)

    def _send(self, decoded: DataFrame, output: Output) -> Counts:
        hygiene = self._stream.config.hygiene
        if hygiene.on_bad_record == "fail":
            refuse_bad(decoded, self._stream.config.name)
        seen, sent = Observation(), Observation()
        observed = decoded.withColumn(PASSES, passes(output)).observe(
            seen,
            F.count(F.lit(1)).alias("read"),
            F.count_if(~is_good()).alias("bad"),
            F.count_if(is_good() & ~F.col(PASSES)).alias("filtered"),
        )
        good = observed.filter(F.col(PASSES))
        region = self._workspace.cluster(self._stream.config.source.cluster).region
        records = output_records(good, output, self._stream.schema, region)
        counted = records.observe(sent, F.count(F.lit(1)).alias("written"))
        write_topic(counted, self._workspace.cluster(output.sink.cluster), output.sink.topic)
        read, written = seen.get, sent.get["written"]
        dropped = read["bad"] if hygiene.on_bad_record == "drop" else 0
        return Counts(
            read["read"], written, read["filtered"], dropped, quarantined=read["bad"] - dropped
        )

    def _send_quarantine(self, decoded: DataFrame) -> Counts:
        quarantine = self._stream.config.quarantine
        if quarantine is None:
            raise Terminal("this stream keeps no quarantine")
        seen, sent = Observation(), Observation()
        observed = decoded.observe(
            seen, F.count(F.lit(1)).alias("read"), F.count_if(is_good()).alias("good")
        )
        records = quarantine_records(observed, self._stream.config.name)
        counted = records.observe(sent, F.count(F.lit(1)).alias("written"))
        write_topic(counted, self._workspace.cluster(quarantine.cluster), quarantine.topic)
        return Counts(seen.get["read"], filtered=seen.get["good"], quarantined=sent.get["written"])


def chosen_outputs(stream: LoadedStream, only: Sequence[str]) -> list[Output]:
    """Return the outputs that were asked for; all where none was named."""
    known = {output.name: output for output in stream.config.outputs}
    unknown = [name for name in only if name not in known]
    if unknown:
        raise UsageError(
            f"stream {stream.config.name} has no output {unknown[0]}",
            f"it has {', '.join(known)}",
        )
    return [known[name] for name in only] if only else list(known.values())


def refuse_bad(decoded: DataFrame, stream: str) -> None:
    """Stop before anything of a batch is sent if a record of it is bad."""
    bad = decoded.filter(~is_good()).select(
        f"{RAW}.topic", f"{RAW}.partition", f"{RAW}.offset", ERROR
    )
    first = bad.first()
    if first is not None:
        raise Terminal(
            f"stream {stream} stops at a bad record: {first[0]}-{first[1]} @ {first[2]}: {first[3]}",
            "mend or skip it, or choose on_bad_record: quarantine",
        )


def shown(counts: Counts) -> dict[str, int]:
    """Return the counts for a log line or a report, without what did not happen."""
    whole = {
        "read": counts.read,
        "written": counts.written,
        "filtered": counts.filtered,
        "dropped": counts.dropped,
        "quarantined": counts.quarantined,
    }
    return {name: value for name, value in whole.items() if value or name in {"read", "written"}}
