"""Before Spark evaluates: the records of ranges of offsets, decoded into Arrow."""

from __future__ import annotations

import time
from functools import lru_cache
from typing import TYPE_CHECKING, Final

import pyarrow as pa

from headrace.contract import METADATA, METADATA_RECORD
from headrace.records.arrow import arrow_schema, column_maker
from headrace.records.codegen import function
from headrace.records.decoding import region_of
from headrace.records.rows import row_class
from router.tasks.compile import decoder_of, ingestion_us
from router.tasks.sending import readers
from router.tasks.sent_lines import headers_of
from router.tasks.task import ranges_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from headrace.kafka.message import Message
    from headrace.records.hygiene.rules import Broken
    from headrace.records.rows import HeadersToSend, Row
    from headrace.schema.model import Record
    from router.plan.model import RoutePlan
    from router.tasks.task import RoutingWork

    Batches = Iterable[pa.RecordBatch]

POSITION: Final = "__position__"
HEADERS: Final = "__headers__"
BAD: Final = "__bad__"
_HEADER = pa.struct([("name", pa.string()), ("value", pa.binary())])
_OWN = (
    pa.field(POSITION, pa.struct([("partition", pa.int32()), ("offset", pa.int64())])),
    pa.field(HEADERS, pa.list_(_HEADER)),
    pa.field(
        BAD, pa.struct([("kind", pa.string()), ("action", pa.string()), ("why", pa.string())])
    ),
)
_METADATA_ROW = row_class(METADATA_RECORD)


def decoded_columns(schema: Record) -> pa.Schema:
    """Return the columns that decoded records have between tasks and Spark."""
    metadata = pa.field(METADATA, pa.struct(list(arrow_schema(METADATA_RECORD))))
    return pa.schema([*arrow_schema(schema), metadata, *_OWN])


def decode_batches(works: Sequence[RoutingWork]) -> Callable[[Batches], Batches]:
    """Return what turns the numbers of pieces of work into their decoded records."""

    def decode(batches: Batches) -> Batches:
        for batch in batches:
            for number in batch.column(0).to_pylist():
                yield from _decoded(works[number])

    return decode


def _decoded(work: RoutingWork) -> Batches:
    plan = work.plan
    decode = decoder(plan)
    with readers.reader(plan.source.properties) as reader:
        for number, messages in reader.chunks(plan.source.topic, ranges_of(work)):
            good: list[tuple[Message, Row]] = []
            bad: list[tuple[Message, Broken]] = []
            decode(messages, number, time.time_ns() // 1_000_000, good, bad)
            yield decoded_batch(plan, number, good, bad)


def decoded_batch(
    plan: RoutePlan,
    number: int,
    good: Sequence[tuple[Message, Row]],
    bad: Sequence[tuple[Message, Broken]],
) -> pa.RecordBatch:
    """Return records of one partition as Spark takes them: the good ones, then the bad."""
    columns = decoded_columns(plan.source.schema)
    # Outputs that Spark evaluates have a query each.
    has_origin = all(outlet.has_origin for outlet in plan.outlets)
    headers = headers_of(plan.source.region, has_origin=has_origin)
    origin = f"{plan.source.topic}/{number}/"
    schema = plan.source.schema
    nulls = row_class(schema)(*(None for _ in schema.fields))
    rows = [row for _, row in good] + [nulls for _ in bad]
    every = [message for message, _ in good] + [message for message, _ in bad]
    metadata = [_metadata(one, plan.source.region) for one in every]
    own = [
        [{"partition": number, "offset": one.offset()} for one in every],
        [_headers(headers(one, origin)) for one in every],
        [None for _ in good] + [_counts_of(broken) for _, broken in bad],
    ]
    arrays = [
        *_columns_of(schema)(rows),
        pa.StructArray.from_arrays(
            _columns_of(METADATA_RECORD)(metadata), fields=list(columns.field(METADATA).type)
        ),
        *(pa.array(values, one.type) for values, one in zip(own, _OWN, strict=True)),
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=columns)


@lru_cache(maxsize=64)
def _columns_of(record: Record) -> Callable[[Sequence[Row]], list[pa.Array]]:
    return column_maker(record, arrow_schema(record))


def decoder(plan: RoutePlan) -> Callable[..., None]:
    """Return what takes (messages, number, now_ms, good, bad), and sorts the messages."""
    half = decoder_of(plan)
    body = ["for m in messages:", *(f"    {line}" for line in (*half.first, *half.lines))]
    body.append("    good.append((m, r))")
    arguments = ["messages", "number", "now_ms", "good", "bad"]
    return function("decode_all", arguments, body, half.names)


def _metadata(message: Message, region: str | None) -> Row:
    return _METADATA_ROW(
        ingestion_us(message),
        message.topic(),
        message.partition(),
        message.offset(),
        region_of(message.headers(), region),
    )


def _headers(headers: HeadersToSend) -> list[dict[str, object]]:
    return [{"name": name, "value": value} for name, value in headers]


def _counts_of(broken: Broken) -> dict[str, str]:
    return {"kind": broken.kind, "action": broken.action, "why": broken.reason}
