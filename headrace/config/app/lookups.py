"""Lookups of an application: tables that its records are joined with, as they were at a time."""

from __future__ import annotations

from typing import Annotated, Final, Literal

from pydantic import BeforeValidator, Field, WithJsonSchema

from headrace.config.model import Model
from headrace.config.scalars import KeyName, Text, refusal, scalar_text
from headrace.errors import UsageError
from headrace.times import parse_time_us

REPLAYED: Final = "replayed"
TODAY: Final = "today"
AS_OF_EXAMPLE: Final = (
    f"{REPLAYED}, {TODAY}, a time such as 2026-03-01T12:00:00Z or a snapshot's id"
)


def _as_of(value: object) -> str:
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise refusal(AS_OF_EXAMPLE)
    text = scalar_text(value).strip()
    if text in {REPLAYED, TODAY} or text.isdecimal():
        return text
    try:
        parse_time_us(text)
    except UsageError:
        raise refusal(AS_OF_EXAMPLE) from None
    return text


AsOf = Annotated[
    str,
    BeforeValidator(_as_of),
    WithJsonSchema(
        {
            "type": ["string", "integer"],
            "examples": [REPLAYED, TODAY, "2026-03-01T12:00:00Z"],
        }
    ),
]


class Lookup(Model):
    """A table of what is known of things, such as titles, as it is at a time."""

    type: Literal["iceberg"] = Field(description="iceberg")
    catalog: KeyName = Field(description="A catalog of headrace.yaml.")
    database: Text = Field(description="The namespace.")
    table: Text = Field(description="The table.")
    as_of: AsOf = Field(
        default=REPLAYED,
        description="Which state a replay joins with. replayed: the one that was current when the"
        " records arrived. today: the one that is current when the replay begins. Or a time, or a"
        " snapshot's id: that one state, live too.",
    )
    columns: tuple[Text, ...] = Field(default=(), description="Columns to read. By default all.")

    @property
    def identifier(self) -> str:
        """`catalog.database.table`."""
        return f"{self.catalog}.{self.database}.{self.table}"

    @property
    def is_fixed(self) -> bool:
        """Whether it is one and the same state for ever, live and replayed."""
        return self.as_of not in {REPLAYED, TODAY}
