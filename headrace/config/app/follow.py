"""How a live run reads a table: what it holds, then each commit."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Annotated, Literal

from pydantic import BeforeValidator, Field, WithJsonSchema

from headrace.config.model import Model
from headrace.config.scalars import Count, PositiveDuration, Text, refusal
from headrace.errors import UsageError
from headrace.times import parse_time_us

MOST_ROWS = 2_000_000
_WANTED = "earliest, latest, or a time such as 2026-03-01T00:00:00Z"


def _start(value: object) -> str:
    # YAML may have read a time already.
    text = value.isoformat() if isinstance(value, datetime) else value
    if not isinstance(text, str):
        raise refusal(_WANTED)
    if text not in {"earliest", "latest"}:
        try:
            parse_time_us(text)
        except UsageError:
            raise refusal(_WANTED) from None
    return text


Start = Annotated[
    str,
    BeforeValidator(_start),
    WithJsonSchema({"type": "string", "examples": ["earliest", "latest", "2026-03-01T00:00:00Z"]}),
]


class Follow(Model):
    """Following a table in a live run."""

    start: Start = Field(
        default="earliest",
        description="Where the very first start begins: with all that the table holds, with what is "
        "committed from then on (latest), or with the records from a time on.",
    )
    discovery_interval: PositiveDuration = Field(
        default=timedelta(seconds=30),
        description="How often the table is asked for what is new.",
        json_schema_extra={"default": "30s"},
    )
    max_rows: Count = Field(
        default=MOST_ROWS, description="The most rows of a batch, of all tables together."
    )
    up_to: Literal["complete", "committed"] = Field(
        default="complete",
        description="complete: no further than the threshold beyond the time up to which the table's "
        "lake writer says that it is complete, where one does; committed: all that is there.",
    )
    on_overwrite: Literal["fail", "skip"] = Field(
        default="fail",
        description="What to do where a commit changed or removed rows that were not read yet: stop, "
        "or go on behind it.",
    )
    time_column: Text | None = Field(
        default=None,
        description="The column of times to go by, in a table of another writer. By default "
        "__metadata__.kafka_ingestion_ts.",
    )
