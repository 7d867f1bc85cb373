"""Bad records into the quarantine: byte for byte, their time kept, the reason in headers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from headrace import contract
from headrace.errors import Terminal
from headrace.kafka.bulk import LARGEST_BATCH_BYTES, Way, properties_of
from headrace.kafka.cluster import KafkaCluster

if TYPE_CHECKING:
    from collections.abc import Mapping

    from headrace.config.workspace import Cluster
    from headrace.kafka.bulk import BulkProducer
    from headrace.records.rows import Headers

# Connect's names for where in a record's way it turned out to be bad.
READING: Final = "VALUE_CONVERTER"
EVALUATING: Final = "TRANSFORMATION"
WRITING: Final = "TASK_PUT"
EXCEPTION_CLASS: Final = "headrace.BadRecord"
# A record that only just fitted into the source gets headers, and has to fit again.
MARGIN_BYTES: Final = 64 * 1024
# Kafka's client sends 0 as «now»: a record of 1970's first millisecond is given the next one.
LEAST_MS: Final = 1
# How far from its clock a broker lets a record's time be; older ones have no such settings.
TIMESTAMP_BOUNDS: Final = (
    "message.timestamp.after.max.ms",
    "message.timestamp.before.max.ms",
)
# A reason may quote what a foreign schema calls its types, and must not outgrow the margin.
MOST_CHARACTERS: Final = 2_000


class Quarantine:
    """The quarantine topic of a stream."""

    def __init__(self, producer: BulkProducer, topic: str) -> None:
        self.producer = producer
        self.topic = topic

    def add(self, message: Any, stage: str, reason: str, connector: str) -> None:  # noqa: ANN401 - a message of Kafka's client
        """Send a record as it came; the flush of its producer tells whether it arrived."""
        own = message.headers() or []
        headers = [*own, *headers_of_bad(message, stage, reason, connector)]
        _, timestamp_ms = message.timestamp()
        self.producer.produce_patiently(
            self.topic, message.value(), message.key(), headers, timestamp_ms or LEAST_MS
        )

    def refused(self, reason: str) -> Terminal:
        """Return the error for a bad record that the quarantine itself does not take."""
        return Terminal(
            f"the quarantine topic {self.topic} refuses a record: {reason}",
            "let it take what the source takes: set its max.message.bytes,"
            f" {' and '.join(TIMESTAMP_BOUNDS)} as the source has them",
        )


def as_taken(source: Mapping[str, str]) -> dict[str, str]:
    """Return the settings of a topic that takes whatever one of these took, with more headers."""
    room = int(source["max.message.bytes"]) + MARGIN_BYTES
    bounds = {name: source[name] for name in TIMESTAMP_BOUNDS if name in source}
    return {"max.message.bytes": str(room), "message.timestamp.type": "CreateTime", **bounds}


def quarantine_way(cluster: Cluster, topic: str, source: Mapping[str, str]) -> tuple[str, Way]:
    """Return a quarantine topic and the way to it; it is made where it is missing.

    `source` are the settings of the topic whose bad records it is for: it takes what that took.
    """
    kafka = KafkaCluster(cluster)
    kafka.ensure_topic(topic, settings=as_taken(source))
    batch_bytes = min(LARGEST_BATCH_BYTES, kafka.largest_batch_bytes(topic))
    return topic, Way(properties_of(cluster.client_properties()), "lz4", batch_bytes)


def headers_of_bad(message: Any, stage: str, reason: str, connector: str) -> Headers:  # noqa: ANN401 - as above
    """Return what Connect's headers say of a bad record."""
    texts = (
        (contract.QUARANTINE_TOPIC, message.topic()),
        (contract.QUARANTINE_PARTITION, str(message.partition())),
        (contract.QUARANTINE_OFFSET, str(message.offset())),
        (contract.QUARANTINE_CONNECTOR, connector),
        (contract.QUARANTINE_STAGE, stage),
        (contract.QUARANTINE_EXCEPTION_CLASS, EXCEPTION_CLASS),
        (contract.QUARANTINE_EXCEPTION_MESSAGE, reason),
    )
    return [(name, text[:MOST_CHARACTERS].encode(errors="replace")) for name, text in texts]
