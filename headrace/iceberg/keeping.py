"""The column in which a table keeps what its topic's records have beside their values.

Whoever edits `keep` in the table's file asks for it, so it needs no leave from `schema_evolution`.
Rows that are there have null.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyiceberg.schema import Schema
from pyiceberg.table.update import SetPropertiesUpdate

from headrace.contract import RECORD, record_field
from headrace.errors import Terminal
from headrace.iceberg.changing import Change, changed, on_schema, schema_updates
from headrace.iceberg.evolution import evolution
from headrace.schema.model import Record

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from pyiceberg.table import Table
    from pyiceberg.table.update import TableUpdate

    from headrace.iceberg.evolution import Evolution


def keep_records(load: Callable[[], Table], name: str, keep: Collection[str]) -> Table:
    """Return the table with a column for these parts of a record; one that is there stays."""

    def missing(table: Table) -> Change | None:
        held = table.schema()
        found = _evolution(table, keep)
        if found.problems:
            raise Terminal(
                f"table {name} has a column {RECORD} of its own: {'; '.join(found.problems)}",
                "land in another table, or leave keep out of the file",
            )
        others = [field for field in held.fields if field.name != RECORD]
        place = next((n for n, one in enumerate(held.fields) if one.name == RECORD), len(others))
        schema = Schema(
            *others[:place],
            *found.schema.fields,
            *others[place:],
            schema_id=held.schema_id,
            identifier_field_ids=held.identifier_field_ids,
        )
        properties = _without_bounds(found.schema)
        updates: list[TableUpdate] = [] if schema == held else schema_updates(table, schema)
        if any(table.properties.get(key) != value for key, value in properties.items()):
            updates.append(SetPropertiesUpdate(updates=properties))
        told = [change.text for change in found.changes] or [f"keep no bounds of {RECORD}"]
        return Change((on_schema(table),), updates, told) if updates else None

    return changed(load, name, missing) if keep else load()


def _evolution(table: Table, keep: Collection[str]) -> Evolution:
    """Return what becomes of the one column; what it has and is not asked for any more stays."""
    held = [field for field in table.schema().fields if field.name.casefold() == RECORD]
    partitions = {one.name for spec in table.specs().values() for one in spec.fields}
    wanted = Record("row", (record_field(keep),))
    return evolution(Schema(*held), wanted, table.metadata.last_column_id, partitions)


def _without_bounds(column: Schema) -> dict[str, str]:
    """Return the properties by which nobody who writes to the table puts keys into its manifests."""
    leaves = [name for name in column.column_names if column.find_type(name).is_primitive]
    return {f"write.metadata.metrics.column.{name}": "none" for name in leaves}
