"""Records of one partition as columns: decoded, checked, and with `__metadata__`.

The one way by which rows land in a table and by which an application reads them live: what is a
bad record, and how a good one looks, is the same for both.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import numpy as np
import pyarrow as pa

from headrace.contract import HEADERS, KEY, METADATA, RECORD, TOMBSTONE
from headrace.errors import Terminal
from headrace.landing.unfollowed import unfollowed_in, with_unfollowed
from headrace.records.arrow import column_maker
from headrace.records.codegen import function
from headrace.records.decoding import decoding, region_of
from headrace.records.hygiene.rules import Broken, never_null
from headrace.records.rows import row_class

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from headrace.kafka.message import Message
    from headrace.landing.topic_values import Values
    from headrace.records.rows import Row
    from headrace.schema.model import Record

Bad: TypeAlias = "tuple[Message, Broken]"

NO_VALUE: Final = "it is a tombstone: the record has no value"
_ARGUMENTS: Final = ("messages", "now_ms", "rows", "at_ms", "offsets", "regions", "bad")
# What decodes a message has its headers at hand by then.
_PARTS: Final = {KEY: "m.key()", TOMBSTONE: "m.value() is None", HEADERS: "headers"}
_OF: Final = {KEY: (KEY, TOMBSTONE), HEADERS: (HEADERS,)}


class RecordColumns:
    """Makes record batches of a topic's records, with the columns that are given.

    `keep` names what `__record__` is to hold of each; without it, that column is null.
    """

    def __init__(
        self,
        values: Values,
        topic: str,
        region: str | None,
        columns: pa.Schema,
        keep: Collection[str] = (),
    ) -> None:
        self._columns = columns
        self._kept = RecordParts(columns, keep)
        ours = {METADATA, *([RECORD] if self._kept.names else [])}
        own = pa.schema([one for one in columns if one.name not in ours])
        self._own = own.names
        self._make = column_maker(values.schema, own)
        self._metadata: pa.StructType = columns.field(METADATA).type
        self._topic = topic
        self._decode = decoder(values, region, self._kept)

    def __call__(
        self, messages: Sequence[Message], partition: int
    ) -> tuple[pa.RecordBatch, int, list[Bad]]:
        """Return the good records, the newest time among them in microseconds, and the bad ones."""
        rows: list[Row] = []
        at_ms: list[int] = []
        offsets: list[int] = []
        regions: list[str | None] = []
        bad: list[Bad] = []
        now_ms = time.time_ns() // 1_000_000
        kept: list[list[Any]] = [[] for _ in self._kept.names]
        self._decode(messages, now_ms, rows, at_ms, offsets, regions, bad, *kept)
        times_us = np.array(at_ms, np.int64) * 1000
        given = {
            "kafka_ingestion_ts": pa.array(times_us),
            "topic": pa.repeat(self._topic, len(rows)),
            "partition": pa.repeat(partition, len(rows)),
            "offset": pa.array(offsets, pa.int64()),
            "region": pa.array(regions, pa.string()),
        }
        fields = list(self._metadata)
        struct = pa.StructArray.from_arrays(
            [given[one.name].cast(one.type) for one in fields], fields=fields
        )
        arrays = dict(zip(self._own, self._make(rows), strict=True)) | {METADATA: struct}
        if kept:
            arrays[RECORD] = self._kept.column(kept, len(rows))
        ordered = [arrays[name] for name in self._columns.names]
        batch = pa.RecordBatch.from_arrays(ordered, schema=self._columns)
        return batch, int(times_us.max(initial=0)), bad


def decoder(
    values: Values, region: str | None, kept: RecordParts | None = None
) -> Callable[..., None]:
    """Return what sorts messages into the lists that columns are made of, and the bad ones.

    Its arguments are (messages, now_ms, rows, at_ms, offsets, regions, bad), and then a list for
    each part of the records that is kept.
    """
    lists = () if kept is None else kept.lists
    whole, unfollowed, find = _with_unfollowed(values)
    half = decoding(values.format, whole, values.hygiene, values.registry, needs_time=True)
    body = [
        "for m in messages:",
        *(f"    {line}" for line in half.first),
        *(f"    {line}" for line in _with_tombstones(values, (*half.lines, *unfollowed))),
        "    rows.append(r); at_ms.append(at); offsets.append(m.offset())",
        "    headers = m.headers()",
        *(() if kept is None else (f"    {line}" for line in kept.lines)),
        "    regions.append(region if headers is None else region_of(headers, region))",
    ]
    names = {
        **half.names,
        **_tombstone(values, whole),
        **find,
        "region": region,
        "region_of": region_of,
    }
    return function("decode_all", (*_ARGUMENTS, *lists), body, names)


def _with_tombstones(values: Values, lines: Sequence[str]) -> Sequence[str]:
    """Return the lines that read a value, with what becomes of a record that has none."""
    match values.tombstones:
        case "keep" if values.format != "raw":
            return ("if m.value() is None: r = empty", "else:", *(f"    {one}" for one in lines))
        case "drop" | "quarantine":
            return (
                "if m.value() is None:",
                "    bad.append((m, tombstone))",
                "    continue",
                *lines,
            )
        case _:
            return lines


def _with_unfollowed(values: Values) -> tuple[Record, Sequence[str], dict[str, object]]:
    """Return the schema to read by, and how a record is found that has more than its own fields."""
    if values.unfollowed is None:
        return values.schema, (), {}
    whole = with_unfollowed(values.schema, values.unfollowed)
    find = unfollowed_in(values.schema, whole)
    action = values.hygiene.action("schema")

    def not_followed(name: str) -> Broken:
        reason = f"{name} is a field of a schema that the table does not follow"
        return Broken("schema", name, reason, action)

    lines = (
        "found = find(r)",
        "if found is not None:",
        "    bad.append((m, not_followed(found)))",
        *(["    break"] if action == "fail" else []),
        "    continue",
    )
    return whole, lines, {"find": find, "not_followed": not_followed}


def _tombstone(values: Values, whole: Record) -> dict[str, object]:
    if values.tombstones is None:
        return {}
    if values.tombstones != "keep":
        return {"tombstone": Broken("decode", None, NO_VALUE, values.tombstones)}
    stuck = never_null(values.schema)
    if stuck and values.format != "raw":
        raise Terminal(
            f"a tombstone cannot be kept as a row: {', '.join(stuck)} cannot be null",
            "allow null in the schema, or choose tombstones: quarantine or drop",
        )
    return {"empty": row_class(whole)(*(None for _ in whole.fields))}


class RecordParts:
    """The fields of `__record__` that columns have and that are to be kept; the others are null."""

    def __init__(self, columns: pa.Schema, keep: Collection[str]) -> None:
        is_there = RECORD in columns.names
        self._fields: list[pa.Field] = list(columns.field(RECORD).type) if is_there else []
        asked = [field for part in keep for field in _OF[part]]
        held = {field.name for field in self._fields}
        self.names = tuple(name for name in asked if name in held)

    @property
    def lists(self) -> tuple[str, ...]:
        """The names of the lists that are filled for each good record."""
        return tuple(f"kept_{name}" for name in self.names)

    @property
    def lines(self) -> tuple[str, ...]:
        """The lines of the loop over messages that fill them, after the headers are known."""
        return tuple(f"kept_{name}.append({_PARTS[name]})" for name in self.names)

    def column(self, lists: Sequence[Sequence[Any]], rows: int) -> pa.StructArray:
        """Return the column of so many rows."""
        found = dict(zip(self.names, lists, strict=True))
        arrays = [
            pa.array(found[field.name], field.type)
            if field.name in found
            else pa.nulls(rows, field.type)
            for field in self._fields
        ]
        return pa.StructArray.from_arrays(arrays, fields=self._fields)
