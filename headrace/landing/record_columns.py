"""Records of one partition as columns: decoded, checked, and with `__metadata__`.

The one way by which rows land in a table and by which an application reads them live: what is a
bad record, and how a good one looks, is the same for both.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import numpy as np
import pyarrow as pa

from headrace.contract import METADATA, RECORD
from headrace.errors import Terminal
from headrace.records.arrow import column_maker
from headrace.records.codegen import function
from headrace.records.decoding import decoding, region_of
from headrace.records.hygiene import Broken, never_null
from headrace.records.kept import Kept
from headrace.records.rows import row_class
from headrace.records.unfollowed import unfollowed_in, with_unfollowed
from headrace.times import FIRST_DAY, LAST_DAY

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from headrace.records.rows import Row
    from headrace.records.values import Values
    from headrace.schema.model import Record

# A message of the client, whose package only headrace.kafka imports.
Message: TypeAlias = Any
Bad: TypeAlias = "tuple[Message, Broken]"

DAY_MS: Final = 86_400_000
FIRST_MS: Final = FIRST_DAY * DAY_MS
END_MS: Final = (LAST_DAY + 1) * DAY_MS
NO_VALUE: Final = "it is a tombstone: the record has no value"
# What Kafka has where a producer gave a record no time.
NO_TIME_MS: Final = -1
NO_TIME: Final = "it has no timestamp (-1): when it arrived is not known"
BEYOND: Final = "its timestamp lies beyond the years 0001 to 9999"
_ARGUMENTS: Final = ("messages", "now_ms", "rows", "at_ms", "offsets", "regions", "bad")


class Columns:
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
        self._kept = Kept(columns, keep)
        ours = {METADATA, *([RECORD] if self._kept.names else [])}
        own = pa.schema([one for one in columns if one.name not in ours])
        self._make = column_maker(values.schema, own)
        self._metadata: pa.StructType = columns.field(METADATA).type
        self._metadata_at = columns.get_field_index(METADATA)
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
        arrays = self._make(rows)
        made = [(self._metadata_at, struct)]
        if kept:
            made.append((self._kept.at, self._kept.column(kept, len(rows))))
        for at, array in sorted(made, key=lambda one: one[0]):
            arrays.insert(at, array)
        batch = pa.RecordBatch.from_arrays(arrays, schema=self._columns)
        return batch, int(times_us.max(initial=0)), bad


def decoder(values: Values, region: str | None, kept: Kept | None = None) -> Callable[..., None]:
    """Return what sorts messages into the lists that columns are made of, and the bad ones.

    Its arguments are (messages, now_ms, rows, at_ms, offsets, regions, bad), and then a list for
    each part of the records that is kept.
    """
    lists = () if kept is None else kept.lists
    whole, unfollowed, find = _with_unfollowed(values)
    half = decoding(values.format, whole, values.hygiene, values.registry)
    no_time, beyond = (
        Broken("decode", None, why, values.hygiene.action("decode")) for why in (NO_TIME, BEYOND)
    )
    body = [
        "for m in messages:",
        "    at = m.timestamp()[1]",
        f"    if at == {NO_TIME_MS} or not {FIRST_MS} <= at < {END_MS}:",
        f"        bad.append((m, no_time if at == {NO_TIME_MS} else beyond))",
        "        if beyond.action == 'fail': break",
        "        continue",
        *(f"    {line}" for line in half.first),
        *(f"    {line}" for line in _with_tombstones(values, (*half.lines, *unfollowed))),
        "    rows.append(r); at_ms.append(at); offsets.append(m.offset())",
        "    headers = m.headers()",
        *(() if kept is None else (f"    {line}" for line in kept.lines)),
        "    regions.append(region if headers is None else region_of(headers, region))",
    ]
    names = {
        **half.names,
        "no_time": no_time,
        "beyond": beyond,
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

    def told(name: str) -> Broken:
        reason = f"{name} is a field of a schema that the table does not follow"
        return Broken("schema", name, reason, action)

    lines = (
        "found = find(r)",
        "if found is not None:",
        "    bad.append((m, told_unfollowed(found)))",
        *(["    break"] if action == "fail" else []),
        "    continue",
    )
    return whole, lines, {"find": find, "told_unfollowed": told}


def _tombstone(values: Values, whole: Record) -> dict[str, object]:
    if values.tombstones is None:
        return {}
    if values.tombstones != "keep":
        return {"tombstone": Broken("decode", None, NO_VALUE, values.tombstones)}
    stuck = never_null(values.schema)
    if stuck and values.format != "raw":
        raise Terminal(
            f"a tombstone cannot be kept as a row: {', '.join(stuck)} cannot be null",
            "let the schema say null, or choose tombstones: quarantine or drop",
        )
    return {"empty": row_class(whole)(*(None for _ in whole.fields))}
