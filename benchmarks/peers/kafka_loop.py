"""The loop that people write by hand, tuned: consume, parse, filter, project, produce."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from confluent_kafka import Producer

from benchmarks.peers.per_core import run

if TYPE_CHECKING:
    from collections.abc import Callable

    from confluent_kafka import Message

    Headers = list[tuple[str, str | bytes | None]]

    from benchmarks.peers.per_core import Share

PRODUCER = {
    "linger.ms": 50,
    "batch.size": 2**20,
    "compression.type": "lz4",
    "acks": "all",
    "enable.idempotence": True,
    "queue.buffering.max.messages": 500_000,
}


def json_functions() -> tuple[Callable[[bytes], Any], Callable[[Any], bytes]]:
    """Return orjson's functions, or the slower standard ones where it is not installed."""
    try:
        orjson = importlib.import_module("orjson")
    except ImportError:
        import json  # noqa: PLC0415 - the second choice

        return json.loads, lambda event: json.dumps(event, separators=(",", ":")).encode()
    return orjson.loads, orjson.dumps


def route(share: Share) -> int:
    """Route a share of the topic; returns how many records were written."""
    loads, dumps = json_functions()
    producer = Producer({"bootstrap.servers": share.settings["bootstrap_servers"], **PRODUCER})
    target = share.settings["target"]
    keeps_origin = bool(share.settings.get("keeps_origin"))
    written = 0
    for messages in share.chunks():
        for message in messages:
            event = loads(message.value() or b"null")
            if event["event_type"] == "start":
                kept = {
                    "event_id": event["event_id"],
                    "user_id": event["user_id"],
                    "title_id": event["title_id"],
                    "event_ts": event["event_ts"],
                    "country": event["country"].upper(),
                }
                headers = _headers(message) if keeps_origin else None
                produce(producer, target, dumps(kept), event["user_id"].encode(), headers)
                written += 1
        producer.poll(0)
    producer.flush()
    return written


def _headers(message: Message) -> Headers:
    place = f"{message.topic()}/{message.partition()}/{message.offset()}"
    return [("origin", f"{place}/{message.timestamp()[1]}")]


def produce(
    producer: Producer,
    topic: str,
    value: bytes | None,
    key: bytes | None,
    headers: Headers | None = None,
) -> None:
    """Hand a record over; wait while the client's own queue is full."""
    while True:
        try:
            if headers is None:
                producer.produce(topic, value, key)
            else:
                producer.produce(topic, value, key, headers=headers)
        except BufferError:
            producer.poll(0.1)
        else:
            return


if __name__ == "__main__":
    run(route)
