"""How a live run reads a table: what it holds, then each commit."""

from __future__ import annotations

from datetime import timedelta
from typing import Annotated, Literal

from pydantic import BeforeValidator, Field, WithJsonSchema

from headrace.config.common.model import Model
from headrace.config.common.scalars import Count, PositiveDuration, Text, time_text

MOST_ROWS = 2_000_000
_WANTED = "earliest, latest, or a time such as 2026-03-01T00:00:00Z"


Start = Annotated[
    str,
    BeforeValidator(lambda value: time_text(value, ("earliest", "latest"), _WANTED)),
    WithJsonSchema({"type": "string", "examples": ["earliest", "latest", "2026-03-01T00:00:00Z"]}),
]


class Follow(Model):
    """How a live run follows a table."""

    start: Start = Field(
        default="earliest",
        description="Where the very first start begins. earliest: with all that the table holds. latest: "
        "with what is committed from then on. A time: with the records from that time on.",
    )
    discovery_interval: PositiveDuration = Field(
        default=timedelta(seconds=30),
        description="How often the table is checked for new commits.",
        json_schema_extra={"default": "30s"},
    )
    max_rows: Count = Field(
        default=MOST_ROWS, description="The most rows of a batch, over all tables together."
    )
    up_to: Literal["complete", "committed"] = Field(
        default="complete",
        description="complete: read at most the threshold (max_misalignment_threshold) beyond the time up "
        "to which the lake writer says that the table is complete. committed: read all that "
        "is committed.",
    )
    on_overwrite: Literal["fail", "skip"] = Field(
        default="fail",
        description="What to do about a commit that changed or removed rows which were not read yet: "
        "stop, or continue after it.",
    )
    time_column: Text | None = Field(
        default=None,
        description="The column of times that gives the order, for a table of another writer. By default "
        "__metadata__.kafka_ingestion_ts.",
    )
