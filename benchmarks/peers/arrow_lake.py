"""The limit of a lake writer in Python: librdkafka, Arrow's JSON reader, Arrow's Parquet writer."""

from __future__ import annotations

from io import BytesIO
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.json as pj
import pyarrow.parquet as pq

from benchmarks.peers.per_core import run

if TYPE_CHECKING:
    from collections.abc import Iterator

    from confluent_kafka import Message

    from benchmarks.peers.per_core import Share

ROWS_PER_GROUP = 200_000
BLOCK_BYTES = 8 * 2**20
TIME = pa.timestamp("us", tz="UTC")
EVENT = pa.schema(
    [
        ("event_id", pa.string()),
        ("event_ts", TIME),
        ("event_type", pa.string()),
        ("user_id", pa.string()),
        ("title_id", pa.int64()),
        ("session_id", pa.string()),
        ("device", pa.string()),
        ("country", pa.string()),
        ("position_ms", pa.int64()),
    ]
)


def land(share: Share) -> int:
    """Write a share of the topic into one Parquet file."""
    target = Path(share.settings["target"]) / f"{share.number}.parquet"
    rows = 0
    writer: pq.ParquetWriter | None = None
    for messages in groups(share):
        table = decode(share.settings["topic"], messages)
        if writer is None:
            writer = pq.ParquetWriter(target, table.schema, compression="zstd")
        writer.write_table(table)
        rows += table.num_rows
    if writer is not None:
        writer.close()
    return rows


def groups(share: Share) -> Iterator[list[Message]]:
    """Read a share in row groups."""
    held: list[Message] = []
    for messages in share.chunks():
        held += messages
        if len(held) >= ROWS_PER_GROUP:
            yield held
            held = []
    if held:
        yield held


def decode(topic: str, messages: list[Message]) -> pa.Table:
    """Make columns of messages, with the metadata struct as the lake has it."""
    text = b"\n".join(message.value() or b"null" for message in messages)
    events = pj.read_json(
        BytesIO(text),
        pj.ReadOptions(use_threads=False, block_size=BLOCK_BYTES),
        pj.ParseOptions(explicit_schema=EVENT),
    )
    count = len(messages)
    times = pa.array([message.timestamp()[1] for message in messages], pa.int64())
    places = list(chain.from_iterable((m.partition(), m.offset()) for m in messages))
    metadata = pa.StructArray.from_arrays(
        [
            times.cast(pa.timestamp("ms", tz="UTC")).cast(TIME),
            pa.array([topic], pa.string()).take(pa.array([0] * count)),
            pa.array(places[::2], pa.int32()),
            pa.array(places[1::2], pa.int64()),
            pa.nulls(count, pa.string()),
        ],
        ["kafka_ingestion_ts", "topic", "partition", "offset", "region"],
    )
    return events.append_column("__metadata__", metadata)


if __name__ == "__main__":
    run(land)
