"""Lookups of an application: tables that its records are joined with, as they were at a time."""

from __future__ import annotations

from typing import Annotated, Final, Literal

from pydantic import BeforeValidator, Field, WithJsonSchema

from headrace.config.common.model import TableName
from headrace.config.common.scalars import Text, scalar_text, time_text

REPLAYED: Final = "replayed"
TODAY: Final = "today"
AS_OF_EXAMPLE: Final = (
    f"{REPLAYED}, {TODAY}, a time such as 2026-03-01T12:00:00Z or a snapshot's id"
)


def _as_of(value: object) -> str:
    if isinstance(value, str | int) and not isinstance(value, bool):
        snapshot_id = scalar_text(value).strip()
        if snapshot_id.isdecimal():
            return snapshot_id
    return time_text(value, (REPLAYED, TODAY), AS_OF_EXAMPLE)


AsOf = Annotated[
    str,
    BeforeValidator(_as_of),
    WithJsonSchema(
        {"type": ["string", "integer"], "examples": [REPLAYED, TODAY, "2026-03-01T12:00:00Z"]}
    ),
]


class Lookup(TableName):
    """A table of reference data, such as titles, to join with."""

    type: Literal["iceberg"] = Field(description="iceberg")
    as_of: AsOf = Field(
        default=REPLAYED,
        description="The state of the table that a replay joins with. replayed: the state when the "
        "records arrived. today: the state when the replay begins. A time or a snapshot's id: "
        "that one state, also live.",
    )
    columns: tuple[Text, ...] = Field(default=(), description="Columns to read. By default all.")

    @property
    def is_fixed(self) -> bool:
        """Whether it is one and the same state for ever, live and replayed."""
        return self.as_of not in {REPLAYED, TODAY}
