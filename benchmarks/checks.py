"""Whether a competitor did the work: compared with what was loaded, record by record or by count."""

from __future__ import annotations

import itertools
import json
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from benchmarks.events import FIELDS, KEPT_FIELDS
from benchmarks.model import WrongResult

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path
    from typing import Any

    from benchmarks.arena import Arena
    from headrace.kafka.message import Message

LOOKED_AT = 1000
CHUNK_BYTES = 4 * 2**20
METADATA = "__metadata__"
# Chunks of one record would be copied whole.
HALF_WITHIN = 0.02
MOST_CHUNKS = 100


def require(what: str, found: int, wanted: int) -> None:
    """Refuse another count."""
    if found != wanted:
        raise WrongResult(f"{what}: {found:,}, not {wanted:,}")


def routed(arena: Arena, topic: str, *, has_origin: bool = False) -> None:
    """Check a routed topic: as many records as pass, and the first of them as they shall be."""
    require(f"records in {topic}", _held(arena, topic), arena.loaded.passing)
    for message in itertools.islice(arena.kafka.records(topic), LOOKED_AT):
        event = json.loads(message.value() or b"null")
        # An object has no order: Go sorts the names of its fields.
        if event.keys() != set(KEPT_FIELDS) or not event["country"].isupper():
            raise WrongResult(f"a record of {topic} is {event}")
        if message.key() != event["user_id"].encode():
            raise WrongResult(f"the key of {event} in {topic} is {message.key()!r}")
        if has_origin != _says_origin(message, arena.loaded.topic):
            raise WrongResult(f"the headers of {event} in {topic} are {message.headers()}")


def _says_origin(message: Message, topic: str) -> bool:
    start = f"{topic}/".encode()
    return any(
        name.endswith("origin") and isinstance(value, bytes) and value.startswith(start)
        for name, value in message.headers() or []
    )


def copied(arena: Arena, topic: str, said: Mapping[str, Any]) -> None:
    """Check a copy that parses nothing: what was sent is there, and it is half of what was read."""
    held = _held(arena, topic)
    require(f"records in {topic}", held, int(said.get("rows", 0)))
    # Every other one of each chunk, of which the last of a partition may be odd.
    if abs(2 * held - arena.loaded.rows) > arena.loaded.rows * HALF_WITHIN + MOST_CHUNKS:
        raise WrongResult(f"{held:,} is not half of {arena.loaded.rows:,} records")


def landed(arena: Arena, files: Iterable[Path]) -> None:
    """Check Parquet files: every record of the topic once, by partition and offset."""
    parts = [_places(file) for file in files]
    if not parts:
        raise WrongResult("no data file was written")
    places = pa.concat_tables(parts)
    spans = arena.kafka.offsets(arena.loaded.topic)
    require("rows landed", places.num_rows, sum(len(span) for span in spans.values()))
    for partition, span in spans.items():
        offsets = places.filter(pc.equal(places["partition"], partition))["offset"]
        require(f"different offsets of partition {partition}", _distinct(offsets), len(span))


def lines(files: Iterable[Path], wanted: int) -> None:
    """Check JSON Lines: as many lines as there are rows, and the first with all fields."""
    found, first = 0, None
    for path in files:
        with path.open("rb") as file:
            if first is None:
                first = json.loads(file.readline() or b"null")
                file.seek(0)
            while chunk := file.read(CHUNK_BYTES):
                found += chunk.count(b"\n")
    require("lines written", found, wanted)
    if first is None or not {*FIELDS, METADATA} <= first.keys():
        raise WrongResult(f"the first line is {first}")


def _held(arena: Arena, topic: str) -> int:
    # Offsets do not tell: the end of a transaction has one too.
    return sum(1 for _ in arena.kafka.records(topic))


def _places(file: Path) -> pa.Table:
    names = [f"{METADATA}.partition", f"{METADATA}.offset"]
    table = pq.ParquetFile(file).read(columns=names)
    return table.flatten().rename_columns(["partition", "offset"])


def _distinct(values: pa.ChunkedArray) -> int:
    return int(pc.count_distinct(values).as_py())
