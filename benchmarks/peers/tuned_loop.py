"""The loop that people write by hand, tuned: consume, parse, filter, project, produce."""

from __future__ import annotations

from typing import TYPE_CHECKING

import orjson
from confluent_kafka import Producer

from benchmarks.peers.per_core import PRODUCER, run

if TYPE_CHECKING:
    from benchmarks.peers.per_core import Share

# How long a record waits for room in the client's queue before it is offered again.
ROOM_S = 0.01


def route(share: Share) -> int:
    """Route a share of the topic; returns how many records were written."""
    producer = Producer({"bootstrap.servers": share.settings["bootstrap_servers"], **PRODUCER})
    source, target = share.settings["topic"], share.settings["target"]
    has_origin = bool(share.settings["has_origin"])
    # Looked up once instead of for each record, and no function of ours is called for one.
    loads, dumps, produce = orjson.loads, orjson.dumps, producer.produce
    written = 0
    for messages in share.chunks():
        for message in messages:
            event = loads(message.value() or b"null")
            if event["event_type"] != "start":
                continue
            user_id = event["user_id"]
            value = dumps(
                {
                    "event_id": event["event_id"],
                    "user_id": user_id,
                    "title_id": event["title_id"],
                    "event_ts": event["event_ts"],
                    "country": event["country"].upper(),
                }
            )
            while True:
                try:
                    if has_origin:
                        place = f"{source}/{message.partition()}/{message.offset()}"
                        origin = ("origin", f"{place}/{message.timestamp()[1]}")
                        produce(target, value, user_id.encode(), headers=[origin])
                    else:
                        produce(target, value, user_id.encode())
                    break
                except BufferError:
                    producer.poll(ROOM_S)
            written += 1
        producer.poll(0)
    producer.flush()
    return written


if __name__ == "__main__":
    run(route)
