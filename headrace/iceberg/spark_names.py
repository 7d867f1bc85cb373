"""Names of tables and columns as Spark's SQL takes them, whatever is in them."""

from __future__ import annotations


def spark_name(name: str) -> str:
    """Write `catalog.database.table` in quotes, part by part."""
    return ".".join(quoted(part) for part in name.split("."))


def quoted(part: str) -> str:
    """Write one name in quotes."""
    return f"`{part.replace('`', '``')}`"
