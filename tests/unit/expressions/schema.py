"""A schema with something of everything that an expression can reach into."""

from __future__ import annotations

from headrace.schema.model import Array, Field, Map, Primitive, Record

TAG = Record("Tag", (Field("k", Primitive.STRING, nullable=False),))
GEO = Record("Geo", (Field("lat", Primitive.DOUBLE, nullable=True),))
SCHEMA = Record(
    "Event",
    (
        Field("event_id", Primitive.STRING, nullable=False),
        Field("event_type", Primitive.STRING, nullable=False),
        Field("country", Primitive.STRING, nullable=True),
        Field("ok", Primitive.BOOLEAN, nullable=True),
        Field("ts", Primitive.TIMESTAMP_MICROS, nullable=False),
        Field("geo", GEO, nullable=True),
        Field("tags", Array(TAG, item_nullable=False), nullable=True),
        Field("labels", Map(Primitive.STRING, item_nullable=False), nullable=True),
        Field("n", Primitive.LONG, nullable=False),
        Field("a b", Primitive.STRING, nullable=True),
    ),
)
