"""From a stream's file to what its tasks work on: clusters, topics and registries are asked."""

from __future__ import annotations

import json
import re
import uuid
from dataclasses import replace
from typing import TYPE_CHECKING

from headrace.config.load import file_of, load_target
from headrace.config.stream.sinks import SearchSink, StreamSink, TableSink, TopicSink
from headrace.errors import Terminal
from headrace.expressions.compiled.compiler import NotCompiled, compile_expression
from headrace.expressions.projection import check_projection
from headrace.expressions.session_settings import other_meaning
from headrace.kafka.bulk import producer_settings
from headrace.kafka.cluster import KafkaCluster
from headrace.kafka.quarantine import quarantine_settings
from headrace.landing.topic_values import read_schema
from headrace.registry.client import shared
from headrace.schema.avro import to_avro
from headrace.schema.model import Field, Record
from router.plan.model import (
    Outlet,
    Registered,
    RoutePlan,
    Source,
    ToSearch,
    ToTable,
    ToTopic,
    left_to_spark,
)

if TYPE_CHECKING:
    from collections.abc import Collection
    from pathlib import Path

    from headrace.config.stream.effective import Effective
    from headrace.config.stream.file import Output
    from headrace.config.workspace.workspace import Workspace
    from headrace.kafka.shared import SharedCluster, SharedClusters
    from router.plan.model import Target


class Planner:
    """Plans one stream as one deployment runs it."""

    def __init__(
        self,
        workspace: Workspace,
        stream: Effective,
        clusters: dict[str, KafkaCluster] | None = None,
        shared: SharedClusters | None = None,
    ) -> None:
        self._workspace = workspace
        self._stream = stream
        # Whoever plans several streams may share connections among them.
        self._clusters: dict[str, KafkaCluster] = {} if clusters is None else clusters
        self._shared = shared
        self._shared_known: dict[str, SharedCluster] = {}

    def plan(self) -> RoutePlan:
        """Return the plan as far as the files say it; only a registry may be asked, for the schema."""
        source = self._source()
        config = self._stream.config
        named = config.hygiene.quarantine
        quarantine = None
        if named is not None:
            # What only just fitted into the source may have been compressed as well as can be.
            quarantine = ToTopic(
                named.cluster,
                named.topic,
                "raw",
                None,
                "zstd",
                is_exactly_once=config.delivery == "exactly_once",
            )
        return RoutePlan(
            id=uuid.uuid4().hex,
            stream=config.name,
            source=source,
            hygiene=config.hygiene.as_rules(),
            quarantine=quarantine,
            outlets=tuple(self._outlet(output, source.schema) for output in config.outputs),
            needs_time=any(isinstance(output.sink, TableSink) for output in config.outputs),
        )

    def resolved(self, plan: RoutePlan, members: Collection[str]) -> RoutePlan:
        """Return the plan of some members with all that has to be asked of clusters.

        Topics that are missing are made, but never the source.
        """
        outlets = [one for one in plan.outlets if one.name in members]
        quarantine = plan.quarantine
        if quarantine is not None:
            taken = self.kafka(plan.source.cluster).settings(plan.source.topic)
            kafka = self.kafka(quarantine.cluster)
            settings = quarantine_settings(kafka, quarantine.topic, taken)
            quarantine = replace(quarantine, producer=settings)
        return replace(
            plan,
            id=uuid.uuid4().hex,
            quarantine=quarantine,
            outlets=tuple(self._resolved(one, plan.source) for one in outlets),
        )

    def kafka(self, cluster: str) -> KafkaCluster:
        """Return a cluster of the workspace; it is connected to once."""
        if (shared := self.shared(cluster)) is not None:
            return shared.kafka
        if cluster not in self._clusters:
            self._clusters[cluster] = KafkaCluster(self._workspace.cluster(cluster))
        return self._clusters[cluster]

    def shared(self, cluster: str) -> SharedCluster | None:
        """Return what all streams of this process share of a cluster, where they do."""
        if self._shared is None:
            return None
        if cluster not in self._shared_known:
            self._shared_known[cluster] = self._shared.of(self._workspace.cluster(cluster))
        return self._shared_known[cluster]

    def _source(self) -> Source:
        config, name = self._stream.config.source, self._stream.config.name
        cluster = self._workspace.cluster(config.cluster)
        known = self._stream.stream.schema
        schema, registry = read_schema(self._workspace, config, known, f"stream {name}")
        return Source(
            cluster=cluster.name,
            topic=config.topic,
            properties=cluster.client_properties(),
            region=self._stream.region,
            format=config.format,
            schema=schema,
            registry=registry,
        )

    @property
    def _cache_dir(self) -> Path:
        return self._workspace.state_dir / "registry"

    def _outlet(self, output: Output, schema: Record) -> Outlet:
        items = output.project if output.project is not None else ("*",)
        columns, _ = check_projection(items, schema)
        by_spark = other_meaning(self._stream.spark_conf)
        target = self._target(output)
        if isinstance(target, ToTopic):
            delivery = output.delivery or self._stream.config.delivery
            target = replace(target, is_exactly_once=delivery == "exactly_once")
        return Outlet(output.name, output.filter, tuple(columns), target, by_spark)

    def _target(self, output: Output) -> Target:
        match output.sink:
            case TopicSink() as sink:
                registered = None
                if sink.format == "avro" and sink.registry is not None:
                    address = sink.registry.address(self._cache_dir, sink.subject)
                    known = self._stream.stream.sink_schemas.get(output.name)
                    registered = Registered(address, sink.subject, known)
                return ToTopic(
                    cluster=sink.cluster,
                    topic=sink.topic,
                    format=sink.format,
                    key_column=sink.key,
                    compression=sink.compression,
                    origin=sink.origin,
                    registered=registered,
                )
            case StreamSink() as sink:
                return self._other_stream(sink)
            case SearchSink() as sink:
                return self._search(sink)
            case TableSink() as sink:
                return ToTable(sink)

    def _search(self, sink: SearchSink) -> ToSearch:
        key = None if sink.api_key is None else sink.api_key.reveal().strip()
        ca = None
        if sink.ca is not None:
            ca = file_of(self._stream.stream, sink.ca, self._workspace).read_text(encoding="utf-8")
        return ToSearch(sink.url.reveal(), sink.index, sink.id_column, sink.batch_rows, key, ca)

    def _other_stream(self, sink: StreamSink) -> ToTopic:
        other = load_target(self._stream.stream, sink, self._workspace)
        source = other.config.source
        registered = None
        if source.format == "avro" and source.writers_registry is not None:
            subject = source.registry_subject or f"{source.topic}-value"
            address = source.writers_registry.address(self._cache_dir, subject)
            registered = Registered(address, subject, other.schema)
        return ToTopic(
            cluster=source.cluster,
            topic=source.topic,
            format=source.format,
            key_column=sink.key,
            compression="lz4",
            origin=sink.origin,
            registered=registered,
        )

    def _resolved(self, outlet: Outlet, source: Source) -> Outlet:
        match outlet.target:
            case ToTopic() as target:
                return replace(outlet, target=self._with_producer(outlet, target, source.schema))
            case ToSearch() as target if target.key_column is not None:
                topic_id = self.kafka(source.cluster).topic_id(source.topic)
                return replace(outlet, target=replace(target, topic_id=topic_id))
            case _:
                return outlet

    def _with_producer(self, outlet: Outlet, target: ToTopic, schema: Record) -> ToTopic:
        avro = None
        if target.registered is not None:
            registered = target.registered
            written = registered.known or output_schema(outlet, schema)
            text = json.dumps(to_avro(written))
            avro = written, shared(registered.address).register(registered.subject, text)
        settings = producer_settings(self.kafka(target.cluster), target.topic, target.compression)
        return replace(target, producer=settings, avro=avro)


def output_schema(outlet: Outlet, schema: Record) -> Record:
    """Return the schema; an expression whose type is known to Spark alone asks for a file."""
    fields: list[Field] = []
    for column in outlet.columns:
        known = schema.field(column.expression)
        if known is not None:
            fields.append(Field(column.name, known.type, known.nullable, default=known.default))
            continue
        compiled = left_to_spark(outlet) or compile_expression(column.expression, schema)
        if isinstance(compiled, NotCompiled):
            raise Terminal(
                f"output {outlet.name}: the Avro type of column {column.name} is not known"
                f" before Spark evaluates it ({compiled.reason})",
                "name a schema file: sink.schema",
            )
        fields.append(Field(column.name, compiled.type, compiled.nullable))
    name = re.sub(r"\W", "_", outlet.name)
    return Record(name if not name[:1].isdigit() else f"_{name}", tuple(fields))
