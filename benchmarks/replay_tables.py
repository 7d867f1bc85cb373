"""Tables for replays, made without a broker: the same rows, in files as they are now and then.

`fresh` has the files in the order of time, as the lake writer leaves them. `compacted` has eight of
those files, from anywhere in the day, in one: its files are wide in time, its row groups are not.
`scattered` is the same with row groups that hold parts of two files that lie far apart.
"""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

import numpy as np
import pyarrow as pa

from benchmarks.checks import METADATA
from benchmarks.events import COUNTRIES, DEVICES, OTHER_TYPES, SPAN, START
from headrace.config.load import load_workspace
from headrace.contract import METADATA_FIELD, with_metadata
from headrace.iceberg.catalog import open_catalog
from headrace.schema.arrow import to_arrow
from headrace.schema.iceberg import to_iceberg
from headrace.schema.model import Field, Primitive, Record

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from benchmarks.arena import Arena

Layout: TypeAlias = Literal["fresh", "compacted", "scattered"]

FILES: Final = 80
FILES_IN_ONE: Final = 8
KAFKA_PARTITIONS: Final = 4
NAMESPACE: Final = "made"
SPAN_US: Final = round(SPAN.total_seconds() * 1_000_000)
START_US: Final = round(START.timestamp() * 1_000_000)
METADATA_TYPE = to_arrow(Record("m", (METADATA_FIELD,))).field(0).type
EVENT = Record(
    "headrace.benchmarks.Made",
    (
        Field("event_id", Primitive.STRING, nullable=False),
        Field("event_ts", Primitive.TIMESTAMP_MICROS, nullable=False),
        Field("event_type", Primitive.STRING, nullable=False),
        Field("user_id", Primitive.STRING, nullable=False),
        Field("title_id", Primitive.LONG, nullable=False),
        Field("session_id", Primitive.STRING, nullable=False),
        Field("device", Primitive.STRING, nullable=False),
        Field("country", Primitive.STRING, nullable=False),
        Field("position_ms", Primitive.LONG, nullable=False),
    ),
)
ROWS_OF_GROUP: Final = {"fresh": 1.0, "compacted": 1.0, "scattered": 1.6}


def home(arena: Arena) -> Path:
    """Return the workspace that holds the tables."""
    return arena.root / "made"


def table_of(layout: Layout, number: int = 0) -> str:
    """Return the name of a table."""
    return f"lake.{NAMESPACE}.{layout}_{number}"


def make_event_table(arena: Arena, layout: Layout, number: int = 0) -> int:
    """Make a table of events unless it is there already; returns its rows."""
    each = arena.events // FILES
    files: Iterator[pa.Table] = (
        events_of(part, each, arena.seed + number) for part in range(FILES)
    )
    if layout != "fresh":
        files = joined(list(files), arena.seed)
    name = table_of(layout, number)
    make_table(arena, name, EVENT, files, round(each * ROWS_OF_GROUP[layout]))
    return FILES * each


def make_table(
    arena: Arena, name: str, record: Record, files: Iterator[pa.Table], group_rows: int
) -> None:
    """Write a table with these files, in row groups of so many rows, unless it is there."""
    folder = home(arena)
    if not folder.exists():
        folder.mkdir()
        arena.new_workspace(folder)
    catalog = open_catalog(load_workspace(folder).catalog("lake"))
    catalog.create_namespace_if_not_exists(NAMESPACE)
    identifier = tuple(name.split(".")[1:])
    if catalog.table_exists(identifier):
        return
    arena.say(f"making {name}")
    schema, properties = to_iceberg(with_metadata(record))
    limits = {"write.parquet.row-group-limit": str(max(1, group_rows))}
    table = catalog.create_table(identifier, schema, properties={**properties, **limits})
    for file in files:
        table.append(file)


def metadata(arrived_us: np.ndarray, first: int) -> pa.Array:
    """Return where records were in Kafka: in turns over its partitions, from a number on."""
    numbers = first + np.arange(len(arrived_us))
    columns = [
        pa.array(arrived_us).cast(pa.timestamp("us", tz="UTC")),
        pa.array(["made"] * len(numbers)),
        pa.array((numbers % KAFKA_PARTITIONS).astype("int32")),
        pa.array(numbers // KAFKA_PARTITIONS),
        pa.nulls(len(numbers), pa.string()),
    ]
    return pa.StructArray.from_arrays(columns, fields=list(METADATA_TYPE))


def arrivals_us(part: int, rows: int) -> np.ndarray:
    """Return when the records of a file arrived: evenly, file after file."""
    numbers = part * rows + np.arange(rows, dtype="int64")
    return np.asarray(START_US + numbers * SPAN_US // (rows * FILES))


def events_of(part: int, rows: int, seed: int) -> pa.Table:
    """Return the events of a file."""
    chance = np.random.default_rng((seed, part))
    arrived_us = arrivals_us(part, rows)

    def text(letter: str, below: int) -> pa.Array:
        numbers = pa.array(chance.integers(0, below, rows)).cast(pa.string())
        return pa.compute.binary_join_element_wise(letter, numbers, "")

    def one_of(values: Sequence[str]) -> pa.Array:
        places = pa.array(chance.integers(0, len(values), rows))
        return pa.array(values).take(places)

    columns = {
        "event_id": text("e", 2**62),
        "event_ts": pa.array(arrived_us - chance.integers(0, 30_000_000, rows)),
        "event_type": one_of(("start", *OTHER_TYPES)),
        "user_id": text("u", 50_000),
        "title_id": pa.array(chance.integers(0, 8_000, rows)),
        "session_id": text("s", 2**32),
        "device": one_of(DEVICES),
        "country": one_of(COUNTRIES),
        "position_ms": pa.array(chance.integers(0, 7_200_000, rows)),
        METADATA: metadata(arrived_us, part * rows),
    }
    return pa.table(columns).cast(to_arrow(with_metadata(EVENT)))


def joined(files: list[pa.Table], seed: int) -> Iterator[pa.Table]:
    """Yield files joined, as many as go into one, from anywhere; the list is used up for it."""
    random.Random(seed).shuffle(files)  # noqa: S311 - the same for the same seed is the purpose
    for start in range(0, len(files), FILES_IN_ONE):
        yield pa.concat_tables(files[start : start + FILES_IN_ONE]).combine_chunks()
