"""Tables made for replays: exactly these records, in exactly these files."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pyarrow as pa

from headrace.contract import with_metadata
from headrace.schema.arrow import to_arrow
from headrace.schema.iceberg import to_iceberg
from headrace.schema.model import Array, Field, Primitive, Record

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyiceberg.catalog import Catalog

DAY = datetime(2026, 3, 1, tzinfo=UTC)
ITEM = Record("Item", (Field("sku", Primitive.STRING, nullable=True),))
EVENT = Record(
    "Event",
    (
        Field("id", Primitive.LONG, nullable=False),
        Field("items", Array(ITEM, item_nullable=False), nullable=True),
    ),
)


@dataclass(frozen=True)
class Stored:
    """A record: its place in Kafka, and when it arrived, in seconds of the day."""

    partition: int
    offset: int
    second: float
    region: str | None = None

    def row(self, at: str | None = None) -> dict[str, object]:
        arrived = DAY + timedelta(seconds=self.second)
        return {
            "id": self.offset,
            **({} if at is None else {at: arrived}),
            "items": None if self.offset % 2 else [{"sku": f"s{self.offset}"}],
            "__metadata__": {
                "kafka_ingestion_ts": arrived,
                "topic": "events",
                "partition": self.partition,
                "offset": self.offset,
                "region": self.region,
            },
        }


def make_table(
    catalog: Catalog,
    name: str,
    files: Sequence[Sequence[Stored]],
    group_rows: int = 1_000_000,
    at: str | None = None,
) -> str:
    """Write a table with a data file for each list, in row groups of so many rows.

    With a name for it, it has another column that says when a record arrived.
    """
    catalog.create_namespace_if_not_exists("replays")
    more = () if at is None else (Field(at, Primitive.TIMESTAMP_MICROS, nullable=True),)
    event = with_metadata(Record(EVENT.name, (*EVENT.fields, *more)))
    schema, properties = to_iceberg(event)
    limits = {"write.parquet.row-group-limit": str(group_rows)}
    table = catalog.create_table(("replays", name), schema, properties={**properties, **limits})
    for file in files:
        table.append(
            pa.Table.from_pylist([record.row(at) for record in file], schema=to_arrow(event))
        )
    return f"lake.replays.{name}"
