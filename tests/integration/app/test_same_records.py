"""The contract of sources: a record read live and the same record read from the lake are one."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from backfill.streams import Replay
from headrace.application.live import LiveStart, live_stream
from headrace.application.live_source import rejected_folder
from headrace.application.rejected_counts import counted
from headrace.config.load import load_app
from headrace.contract import (
    METADATA,
    QUARANTINE_CONNECTOR,
    QUARANTINE_OFFSET,
    QUARANTINE_PARTITION,
    without_metadata,
)
from headrace.kafka.sender import KafkaRecord
from headrace.records.arrow import to_rows
from headrace.records.avro.writer import AvroWriter
from headrace.records.json.writer import JsonWriter
from headrace.schema.arrow import for_spark, to_arrow
from headrace.schema.avro import to_avro
from tests.integration.kept_records import send_with_headers
from tests.integration.schema.test_every_type import EVERY_TYPE, NULLS_AROUND_STRUCTS

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import DataFrame, SparkSession

    from headrace.config.load import LoadedApp
    from tests.integration.pipelines import Pipelines
    from tests.registry_server import RegistryServer

OWN = without_metadata(EVERY_TYPE)
AT_MS = 1_772_323_200_000
BEYOND_MS = 2**62
POISON = [
    b"",
    b"{",
    b"not a record",
    b"\x00\x00\x00\x00",
    b"\x00\x7f\xff\xff\xffabc",
    b'{"id": "x"}',
]


def every_value() -> list[dict[str, Any]]:
    return [{name: row[name] for name in row if name != METADATA} for row in NULLS_AROUND_STRUCTS]


def records(write: Callable[[Any], bytes]) -> list[KafkaRecord]:
    """Return good records of every type over two partitions, poison between them."""
    struct = pa.Table.from_pylist(every_value(), for_spark(to_arrow(OWN))).to_struct_array()
    good = [write(row) for row in to_rows(struct.combine_chunks(), OWN)]
    region: tuple[tuple[str, bytes | None], ...] = (("region", b"eu-west-1"),)
    made = [KafkaRecord(value, b"k", region, AT_MS, partition=0) for value in good]
    made += [KafkaRecord(value, None, (), AT_MS + 1, partition=1) for value in good]
    made += [KafkaRecord(value, b"bad", region, AT_MS, partition=1) for value in POISON]
    made += [KafkaRecord(None, b"tombstone", (), AT_MS, partition=0)]
    # A time that no clock ends a stream by.
    made += [KafkaRecord(good[0], b"time", (), BEYOND_MS, partition=0)]
    return [*made, KafkaRecord(good[1], b"last", (), AT_MS + 2, partition=0)]


class Twins:
    """One topic and the table that it landed in, as the candidates of an application."""

    def __init__(self, pipelines: Pipelines, name: str, source: dict[str, object]) -> None:
        self.pipelines, self.name, self.source = pipelines, name, source
        pipelines.make_topic(name, partitions=2)

    def app(self) -> LoadedApp:
        topics = {key: value for key, value in self.source.items() if key != "topic"}
        path = self.pipelines.write(
            f"apps/{self.name}.yaml",
            {
                "kind": "app",
                "name": self.name,
                "sources": {
                    "events": {
                        "type": "dynamic",
                        "selected": "live",
                        "candidates": ["live", "past"],
                    },
                    "live": {**topics, "topics": self.source["topic"]},
                    "past": {
                        "type": "iceberg",
                        "catalog": "lake",
                        "database": "tv",
                        "table": self.name,
                    },
                },
                "transform": {"sql": "SELECT * FROM events"},
                "sink": {"type": "jsonl", "path": "out"},
            },
        )
        return load_app(path, self.pipelines.workspace)

    def live(self, spark: SparkSession) -> DataFrame:
        return live_stream(
            LiveStart(spark, self.pipelines.workspace, self.app(), once=True), "live"
        )

    def past(self, spark: SparkSession) -> DataFrame:
        table, root = f"lake.tv.{self.name}", self.pipelines.workspace.root
        replay = Replay([table], "0001-01-01", "9999-12-31", workspace=root)
        return replay.streams(spark, self.name)[table]

    def bad(self, connector: str) -> list[tuple[str, str]]:
        """Return which records a reader has put into the quarantine."""
        return sorted(
            (str(one.header(QUARANTINE_PARTITION)), str(one.header(QUARANTINE_OFFSET)))
            for one in self.pipelines.seen(f"{self.name}.quarantine", "fronting")
            if one.header(QUARANTINE_CONNECTOR) == connector.encode()
        )


def rows_of(stream: DataFrame, name: str) -> pa.Table:
    """Run a stream to its end; its rows by partition and offset."""
    query = stream.writeStream.format("memory").queryName(name).outputMode("append").start()
    try:
        query.processAllAvailable()
    finally:
        query.stop()
    held = stream.sparkSession.table(name)
    return held.orderBy(f"{METADATA}.partition", f"{METADATA}.offset").toArrow()


@pytest.fixture(params=["json", "avro"])
def twins(
    request: pytest.FixtureRequest,
    pipelines: Pipelines,
    unique: Callable[[str], str],
    registry_server: RegistryServer,
) -> Twins:
    name, form = unique("twins"), request.param
    pipelines.write(f"schemas/{name}.avsc", to_avro(OWN))
    source: dict[str, object] = {"type": "kafka", "cluster": "fronting", "topic": name}
    source |= {"format": form, "schema": f"schemas/{name}.avsc"}
    write: Callable[[Any], bytes] = JsonWriter(OWN)
    if form == "avro":
        known = registry_server.put(f"{name}-value", json.dumps(to_avro(OWN)))
        source["schema"] = {"registry": {"url": registry_server.url, "subject": f"{name}-value"}}
        write = AvroWriter(OWN, known.id)
    made = Twins(pipelines, name, source)
    made_records = records(write)
    # A good record, but for the name of a header.
    good = made_records[0].value or b""
    bootstrap = pipelines.workspace.cluster("fronting").bootstrap_servers
    send_with_headers(bootstrap, name, good, [(b"region", b"x"), (b"\xff", b"v")])
    pipelines.send(name, made_records)
    return made


def test_live_and_past_are_the_same_in_every_type_and_on_what_is_bad(
    spark: SparkSession, twins: Twins
) -> None:
    path = twins.pipelines.table(twins.name, twins.name, to_avro(OWN), source=twins.source)
    landed = twins.pipelines.land(spark, path)
    live, past = twins.live(spark), twins.past(spark)
    assert live.schema.jsonValue() == past.schema.jsonValue()
    now, then = rows_of(live, f"{twins.name}_live"), rows_of(past, f"{twins.name}_past")
    assert now.schema.equals(then.schema, check_metadata=True)
    assert now.to_pylist() == then.to_pylist()
    values = [
        {k: v for k, v in row.items() if k != METADATA}
        for row in now.to_pylist(maps_as_pydicts="strict")
    ]
    assert values == [*every_value(), every_value()[1], *every_value()]
    assert {row["region"] for row in now.column(METADATA).to_pylist()} == {"eu-west-1", "us-east-1"}
    bad = len(POISON) + 3
    assert (landed.rows, landed.quarantined) == (now.num_rows, bad)
    assert twins.bad(f"{twins.name}.live") == twins.bad(twins.name)
    assert len(twins.bad(twins.name)) == bad
    folder = rejected_folder(twins.pipelines.workspace.state_dir, twins.app(), "live")
    assert counted(folder) == {"quarantined": bad}
