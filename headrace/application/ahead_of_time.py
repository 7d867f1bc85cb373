"""Records whose own time lies ahead of the time at which they arrived.

One record of the year 2099 would take the watermark there, and every record after it would be
late. What is ahead depends on the record alone (its event time and `kafka_ingestion_ts`), so that
it is the same live and in any replay.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from headrace.config.app.file import OnAhead  # noqa: TC001 - an option is read by its types
from headrace.errors import Terminal

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


@dataclass(frozen=True, slots=True)
class Ahead:
    """How far a column may be ahead of the ingestion time, and what becomes of what is further."""

    column: str
    limit_us: int
    action: OnAhead

    def to_json(self) -> str:
        """Return it as an option of a source."""
        return msgspec.json.encode(self).decode()

    @classmethod
    def of_options(cls, options: Mapping[str, str]) -> Ahead | None:
        """Return the bound that a source's option `ahead` names, as `to_json` wrote it."""
        text = options.get("ahead")
        return None if text is None else msgspec.json.decode(text, type=cls)


class Bounded(NamedTuple):
    """What a batch is with nothing in it too far ahead, and the numbers of the rows that were."""

    batch: pa.RecordBatch
    rows: Sequence[int]


def hold_back(batch: pa.RecordBatch, ahead: Ahead, arrived: pa.Int64Array) -> Bounded:
    """Clamp what is too far ahead to the furthest that may be, or take it out.

    `arrived` has the arrivals of the rows in microseconds.
    """
    at = _column_index(batch, ahead.column)
    column = batch.column(at)
    own = column.cast(pa.timestamp("us", column.type.tz)).cast(pa.int64())
    furthest = pc.add(arrived, ahead.limit_us)
    # A null is ahead of nothing.
    over = pc.fill_null(pc.greater(own, furthest), fill_value=False)
    if not pc.any(over).as_py():
        return Bounded(batch, ())
    rows: list[int] = pc.indices_nonzero(over).to_pylist()
    if ahead.action == "clamp":
        micros = pa.timestamp("us", column.type.tz)
        clamped = pc.if_else(over, furthest, own).cast(micros).cast(column.type)
        return Bounded(batch.set_column(at, batch.schema.field(at), clamped), rows)
    return Bounded(batch.filter(pc.invert(over)), rows)


def _column_index(batch: pa.RecordBatch, column: str) -> int:
    for at, field in enumerate(batch.schema):
        if field.name.casefold() == column.casefold() and pa.types.is_timestamp(field.type):
            return at
    raise Terminal(
        f"max_ahead is for {column}, but there is no timestamp column of that name",
        f"the columns are {', '.join(batch.schema.names)}",
    )
