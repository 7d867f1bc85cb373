"""What the demo's events take on disk: `python -m benchmarks.bytes_stored`.

The same events lie as JSON in a Kafka topic without compression, in one with zstd, and in a table
that the lake writer landed, with all their fields and `__metadata__`. Reported is what each takes,
and how many times smaller than the JSON alone it is. The events come from a seed and bytes are no
matter of speed: the figures are the same on any machine.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from confluent_kafka import Producer

from benchmarks.arena import HEADRACE_YAML, console_script
from headrace.config.workspace.workspace import Cluster
from headrace.demo.events import events
from headrace.demo.workspace_template import create_workspace
from headrace.embedded.broker import Broker, BrokerOptions
from headrace.kafka.cluster import KafkaCluster

if TYPE_CHECKING:
    from collections.abc import Iterator

SEED = 20_260_301
PARTITIONS = 4
CODECS = ("none", "zstd")
QUEUE_MESSAGES = 100_000
TABLE = """\
kind: lake_table
name: playback
source: {{type: kafka, cluster: here, topic: {topic}, format: json, schema: schemas/playback.avsc}}
hygiene: {{quarantine: {{cluster: here, topic: bad}}}}
table:
  catalog: lake
  database: playback
  table: events
  partition_by: ["day(__metadata__.kafka_ingestion_ts)"]
  properties: {{{properties}}}
"""


@dataclass(frozen=True, slots=True)
class Sent:
    """What went into each topic."""

    number: int
    value_bytes: int


def sound(number: int) -> Iterator[tuple[bytes, bytes, str]]:
    """Yield key, value and region of the demo's events, without those that are broken off."""
    for event in events(number, SEED):
        value, headers = event["value"], event["headers"]
        if isinstance(value, dict) and isinstance(headers, dict):
            text = json.dumps(value, separators=(",", ":"))
            yield str(event["key"]).encode(), text.encode(), headers["region"]


def fill(broker: Broker, codec: str, number: int) -> Sent:
    """Send all events to a topic of that codec."""
    settings = {"bootstrap.servers": broker.bootstrap_servers, "compression.type": codec}
    producer = Producer(settings | {"linger.ms": 100, "batch.size": 1_000_000})
    sent = value_bytes = 0
    for key, value, region in sound(number):
        producer.produce(topic_of(codec), value, key, headers=[("region", region.encode())])
        sent, value_bytes = sent + 1, value_bytes + len(value)
        producer.poll(0)
        if len(producer) >= QUEUE_MESSAGES // 2:
            producer.flush()
    producer.flush()
    return Sent(sent, value_bytes)


def topic_of(codec: str) -> str:
    """Return the name of a codec's topic."""
    return f"events-{codec}"


def log_bytes(folder: Path, topic: str) -> int:
    """Return what the broker's segments of a topic hold, without what is set aside for indexes."""
    return sum(file.stat().st_size for file in folder.rglob(f"{topic}-*/*.log"))


def landed_bytes(root: Path, broker: Broker, topic: str, level: int | None) -> tuple[int, int]:
    """Land a topic; returns the bytes of the data files, and of all the table's metadata."""
    create_workspace(root)
    text = HEADRACE_YAML.format(bootstrap=broker.bootstrap_servers)
    (root / "headrace.yaml").write_text(text, encoding="utf-8")
    properties = "" if level is None else f'write.parquet.compression-level: "{level}"'
    table = TABLE.format(topic=topic, properties=properties)
    (root / "events.yaml").write_text(table, encoding="utf-8")
    command = [console_script("lake-writer"), "start", "-c", "events.yaml", "--once"]
    subprocess.run(command, cwd=root, check=True, stdout=subprocess.DEVNULL)
    files = [file for file in (root / ".headrace" / "warehouse").rglob("*") if file.is_file()]
    data = sum(file.stat().st_size for file in files if file.suffix == ".parquet")
    return data, sum(file.stat().st_size for file in files) - data


def main() -> None:
    """Measure and report."""
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--events", type=int, default=1_000_000)
    asked.add_argument(
        "--level", type=int, help="of the table's zstd; without it, what it has by default"
    )
    given = asked.parse_args()
    number = given.events
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        with Broker(root / "broker", BrokerOptions(partitions=PARTITIONS)) as broker:
            kafka = KafkaCluster(Cluster("here", broker.bootstrap_servers, None, {}))
            for codec in CODECS:
                kafka.ensure_topic(topic_of(codec), PARTITIONS)
                sent = fill(broker, codec, number)
            data, metadata = landed_bytes(root / "workspace", broker, topic_of("none"), given.level)
        found = {
            f"Kafka log, {codec}": log_bytes(root / "broker", topic_of(codec)) for codec in CODECS
        }
    found = {"JSON values": sent.value_bytes, **found, "Parquet": data, "its metadata": metadata}
    print(f"{sent.number:,} events")
    for what, size in found.items():
        share = sent.value_bytes / size
        print(
            f"{what:>16} {size:>15,} bytes {size / sent.number:9.2f} each  JSON / it {share:7.2f}"
        )


if __name__ == "__main__":
    main()
