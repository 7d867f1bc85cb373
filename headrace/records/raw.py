"""Records whose bytes are taken as they are: the columns `key` and `value`."""

from __future__ import annotations

from typing import Final

from headrace.schema.model import Field, Primitive, Record

RAW_SCHEMA: Final = Record(
    "headrace.Raw",
    (
        Field("key", Primitive.BYTES, nullable=True),
        Field("value", Primitive.BYTES, nullable=True),
    ),
)
