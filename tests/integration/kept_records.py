"""Records whose keys, values and headers are all that Kafka lets them be."""

from __future__ import annotations

import ctypes
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import confluent_kafka

from headrace.kafka.sender import KafkaRecord

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

T0_MS: Final = 1_772_323_200_000
# A tombstone is a row whose columns are all null.
NULLABLE: Final[Mapping[str, Any]] = {
    "type": "record",
    "name": "tv.Maybe",
    "fields": [
        {"name": "id", "type": ["null", "long"], "default": None},
        {"name": "kind", "type": ["null", "string"], "default": None},
    ],
}
RAW_SOURCE: Final = {"type": "kafka", "cluster": "fronting", "format": "raw"}
ODD_HEADERS: Final = (
    ("a", b"1"),
    ("b", b""),
    ("a", None),
    ("", b"no name"),
    ("é", b"\xff\x00"),
    ("region", b"eu"),
    ("a", b"1"),
)


def _value(number: int | None, kind: str | None) -> bytes:
    return json.dumps({"id": number, "kind": kind}).encode()


SENT: Final = (
    KafkaRecord(_value(1, "a"), b"k1", ODD_HEADERS, T0_MS, 0),
    KafkaRecord(_value(2, "b"), None, (), T0_MS + 1, 1),
    KafkaRecord(_value(3, None), b"", (("x", b""),), T0_MS + 2, 1),
    KafkaRecord(_value(4, "d"), b"\xff\xfe\x00", (), T0_MS + 3, 0),
    KafkaRecord(None, b"k1", (("why", b"gone"),), T0_MS + 4, 0),
    KafkaRecord(_value(None, None), b"k1", (), T0_MS + 5, 0),
    KafkaRecord(None, None, (), T0_MS + 6, 1),
)


def kept_of(record: KafkaRecord) -> dict[str, Any]:
    """Return what a table keeps of a record."""
    headers = [{"name": name, "value": value} for name, value in record.headers]
    return {"key": record.key, "tombstone": record.value is None, "headers": headers or None}


def send_with_headers(
    bootstrap: str, topic: str, value: bytes, headers: Sequence[tuple[bytes, bytes]]
) -> None:
    """Send to partition 0 with names of headers that the client's Python part refuses."""
    folder = Path(confluent_kafka.__file__).parent.with_name("confluent_kafka.libs")
    client = ctypes.CDLL(str(next(folder.glob("librdkafka-*"))))
    pointer, size = ctypes.c_void_p, ctypes.c_size_t
    for function in (client.rd_kafka_conf_new, client.rd_kafka_new, client.rd_kafka_headers_new):
        function.restype = pointer
    settings = pointer(client.rd_kafka_conf_new())
    client.rd_kafka_conf_set(settings, b"bootstrap.servers", bootstrap.encode(), None, size(0))
    producer = pointer(client.rd_kafka_new(0, settings, None, size(0)))
    made = pointer(client.rd_kafka_headers_new(size(len(headers))))
    for name, held in headers:
        long = ctypes.c_ssize_t(len(name))
        client.rd_kafka_header_add(made, name, long, held, size(len(held)))
    # By the tags of librdkafka: topic, partition, value, copied, headers, the end.
    tagged = (1, topic.encode(), 3, 0, 4, value, size(len(value)), 7, 2, 10, made, 0)
    assert client.rd_kafka_producev(producer, *tagged) == 0
    assert client.rd_kafka_flush(producer, 30_000) == 0
    client.rd_kafka_destroy(producer)
