"""From columns to a record's bytes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pyspark.sql import functions as F  # noqa: N812 - as everybody names it

from headrace.errors import Terminal

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import Column

# ISO-8601 in UTC with microseconds, which is also what we read.
JSON_OPTIONS: Final = {
    "timestampFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX",
    "timestampNTZFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSS",
    "ignoreNullFields": "false",
}


def encode_value(columns: Sequence[str], form: str) -> Column:
    """Return the value of a record with those columns."""
    if form == "json":
        return F.to_json(F.struct(*(f"`{name}`" for name in columns)), JSON_OPTIONS).cast("binary")
    if form == "raw" and len(columns) == 1:
        return F.col(f"`{columns[0]}`").cast("binary")
    raise Terminal(
        f"format {form} cannot hold the columns {', '.join(columns)}",
        "json holds any; raw holds exactly one",
    )


def encode_key(column: str | None) -> Column:
    """Return the key: a column as text in UTF-8, or none."""
    if column is None:
        return F.lit(None).cast("binary")
    return F.col(f"`{column}`").cast("string").cast("binary")
