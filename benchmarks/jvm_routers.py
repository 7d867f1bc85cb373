"""Kafka Streams and Flink SQL: the routers that run on a JVM and go on for ever."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from benchmarks.arena import RAW_TOPIC
from benchmarks.java_peer import OPENED_FOR_FLINK, Program, java_command, write_properties
from benchmarks.measure import Command
from benchmarks.routing import new_target, routing_run

if TYPE_CHECKING:
    from pathlib import Path

    from benchmarks.arena import Arena
    from benchmarks.model import Run

STREAMS: Final = Program("StreamsRouter", "routers.lock", "kafka-streams")
FLINK: Final = Program("FlinkRouter", "routers.lock", "flink-sql", OPENED_FOR_FLINK)
# One for each core, as everybody else here has them.
THREADS = "2"
# As the loop by hand sets them, in the words of the Java client; both are idempotent by default.
PRODUCER: Final = {
    "acks": "all",
    "compression.type": "lz4",
    "linger.ms": "50",
    "batch.size": str(2**20),
    "buffer.memory": str(2**27),
}
CONSUMER: Final = {"max.poll.records": "5000", "max.partition.fetch.bytes": str(4 * 2**20)}
# The broker answers on the loopback only, and so does Flink.
FLINK_SETTINGS: Final = {
    "parallelism.default": THREADS,
    "pipeline.object-reuse": "true",
    "execution.checkpointing.interval": "10 s",
    "rest.address": "127.0.0.1",
    "rest.bind-address": "127.0.0.1",
    "rest.port": "0",
    "rest.bind-port": "0",
}


@dataclass(frozen=True, slots=True)
class FlinkForm:
    """How Flink SQL reads the time of an event, and what it says of where a record came from."""

    time_type: str
    # Columns of Kafka's own, and what is made of them.
    read: str = ""
    written: str = ""
    selected: str = ""


PLAIN: Final = FlinkForm("STRING")
# As headrace works: the time is read as a time, and a header says where a record came from.
TYPED: Final = FlinkForm(
    "TIMESTAMP_LTZ(3)",
    read="""
  source_topic STRING METADATA FROM 'topic' VIRTUAL,
  source_partition INT METADATA FROM 'partition' VIRTUAL,
  source_offset BIGINT METADATA FROM 'offset' VIRTUAL,
  source_time TIMESTAMP_LTZ(3) METADATA FROM 'timestamp' VIRTUAL,""",
    written="\n  headers MAP<STRING, BYTES> METADATA,",
    selected="""
  MAP['origin', ENCODE(CONCAT_WS(
    '/', source_topic, CAST(source_partition AS STRING), CAST(source_offset AS STRING),
    CAST(source_time AS STRING)), 'UTF-8')],""",
)
READ = """\
CREATE TABLE events ({form.read}
  event_id STRING, event_ts {form.time_type}, event_type STRING, user_id STRING, title_id BIGINT,
  session_id STRING, device STRING, country STRING, position_ms BIGINT
) WITH ({options})
"""
WRITTEN = """\
CREATE TABLE starts ({form.written}
  event_id STRING, user_id STRING, title_id BIGINT, event_ts {form.time_type}, country STRING
) WITH ({options})
"""
ROUTE = """\
INSERT INTO starts SELECT {form.selected}
  event_id, user_id, title_id, event_ts, UPPER(country)
FROM events WHERE event_type = 'start'
"""


def kafka_streams(arena: Arena, folder: Path) -> Run:
    """Prepare Kafka Streams with Jackson's data binding."""
    target = new_target(arena, folder)
    settings = {
        "router.source": RAW_TOPIC,
        "router.target": target,
        "bootstrap.servers": arena.bootstrap_servers,
        "application.id": folder.name,
        "state.dir": str(folder / "state"),
        "num.stream.threads": THREADS,
        "processing.guarantee": "at_least_once",
        "buffered.records.per.partition": "10000",
        "auto.offset.reset": "earliest",
        **{f"consumer.{name}": value for name, value in CONSUMER.items()},
        **{f"producer.{name}": value for name, value in PRODUCER.items()},
    }
    file = write_properties(folder / "streams.properties", settings)
    command = Command(java_command(arena, folder, STREAMS, [file]), folder, endless=True)
    return routing_run(arena, target, command)


def flink_sql(arena: Arena, folder: Path) -> Run:
    """Prepare Flink SQL, which reads no times and writes no header."""
    return _flink(arena, folder, PLAIN)


def typed_flink_sql(arena: Arena, folder: Path) -> Run:
    """Prepare Flink SQL that reads times and writes a header of the origin."""
    return _flink(arena, folder, TYPED)


def _flink(arena: Arena, folder: Path, form: FlinkForm) -> Run:
    target = new_target(arena, folder)
    checkpoints = {"execution.checkpointing.dir": (folder / "checkpoints").as_uri()}
    files = [write_properties(folder / "flink.properties", FLINK_SETTINGS | checkpoints)]
    both = {"connector": "kafka", "properties.bootstrap.servers": arena.bootstrap_servers}
    read = {
        **both,
        "topic": RAW_TOPIC,
        "properties.group.id": folder.name,
        "scan.startup.mode": "earliest-offset",
        "format": "json",
        "json.timestamp-format.standard": "ISO-8601",
        **{f"properties.{name}": value for name, value in CONSUMER.items()},
    }
    written = {
        **both,
        "topic": target,
        "key.format": "raw",
        "key.fields": "user_id",
        "value.format": "json",
        "value.json.timestamp-format.standard": "ISO-8601",
        "value.fields-include": "ALL",
        "sink.delivery-guarantee": "at-least-once",
        **{f"properties.{name}": value for name, value in PRODUCER.items()},
    }
    statements = {
        "read": READ.format(form=form, options=_options(read)),
        "written": WRITTEN.format(form=form, options=_options(written)),
        "route": ROUTE.format(form=form),
    }
    for name, statement in statements.items():
        files.append(folder / f"{name}.sql")
        files[-1].write_text(statement, encoding="utf-8")
    command = Command(java_command(arena, folder, FLINK, files), folder, endless=True)
    return routing_run(arena, target, command, has_origin=form is TYPED)


def _options(options: dict[str, str]) -> str:
    return ", ".join(f"'{name}' = '{value}'" for name, value in options.items())
