"""Bringing a table to the schema of its records and to the partitions of its file."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from pyiceberg.schema import Schema
from pyiceberg.table.update import (
    AddPartitionSpecUpdate,
    AssertDefaultSpecId,
    AssertLastAssignedPartitionId,
    SetDefaultSpecUpdate,
    SetPropertiesUpdate,
)

from headrace.contract import RECORD, record_field, with_metadata
from headrace.contract import own_columns as own_columns_of
from headrace.errors import Terminal
from headrace.iceberg.evolution import evolution
from headrace.iceberg.specs import next_spec, shown
from headrace.iceberg.table_changes import TableChange, changed, on_schema, schema_updates
from headrace.schema.annotations import PROPERTY
from headrace.schema.avro import to_avro
from headrace.schema.iceberg import from_iceberg
from headrace.schema.model import Record

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from pyiceberg.table import Table
    from pyiceberg.table.update import TableUpdate

    from headrace.config.lake_table.partitioning import Partition
    from headrace.iceberg.evolution import Evolution, Follows


class DoesNotFit(Terminal):
    """A table whose columns are not those of the schema, and are not to become them."""

    def __init__(self, name: str, found: Evolution, follows: Follows) -> None:
        beyond = found.beyond(follows)
        self.reasons = (*found.problems, *(f"it would have to {one.text}" for one in beyond))
        advice = "name another table, or make the schema and the table agree"
        if not found.problems:
            needed = "widen" if any(one.needs == "widen" for one in beyond) else "add_columns"
            advice = (
                f"with schema_evolution: {needed} the table follows the schema; otherwise {advice}"
            )
        super().__init__(f"table {name} does not fit the schema: {'; '.join(self.reasons)}", advice)


def follow(load: Callable[[], Table], name: str, record: Record, follows: Follows) -> Table:
    """Return the table with columns for the record's fields; DoesNotFit where that may not be."""
    wanted = with_metadata(record)
    said = json.dumps(to_avro(wanted))

    def missing(table: Table) -> TableChange | None:
        found = _evolution(table.schema(), wanted, table)
        if found.problems or found.beyond(follows):
            raise DoesNotFit(name, found, follows)
        is_said = follows == "none" or table.properties.get(PROPERTY) == said
        if found.schema is table.schema() and is_said:
            return None
        updates: list[TableUpdate] = [SetPropertiesUpdate(updates={PROPERTY: said})]
        if found.schema is not table.schema():
            updates += schema_updates(table, found.schema)
        return TableChange((on_schema(table),), updates, [one.text for one in found.changes])

    return changed(load, name, missing)


def follow_partitions(
    load: Callable[[], Table], name: str, partitions: Sequence[Partition]
) -> Table:
    """Return the table with these partitions for the files to come; those that are there stay."""

    def missing(table: Table) -> TableChange | None:
        held, spec = table.spec(), next_spec(table.metadata, partitions)
        if spec.spec_id == held.spec_id:
            return None
        is_new = spec.spec_id not in table.specs()
        updates: list[TableUpdate] = [AddPartitionSpecUpdate(spec=spec)] if is_new else []
        updates.append(SetDefaultSpecUpdate(spec_id=-1 if is_new else spec.spec_id))
        conditions = (
            AssertDefaultSpecId(default_spec_id=held.spec_id),
            AssertLastAssignedPartitionId(
                last_assigned_partition_id=table.metadata.last_partition_id
            ),
        )
        before, after = (shown(one, table.schema()) for one in (held, spec))
        return TableChange(
            conditions, updates, [f"partition new files by {after} instead of {before}"]
        )

    return changed(load, name, missing)


def own_columns(table: Table) -> Record | None:
    """Return the schema that a table was last brought to; None where it does not say."""
    if PROPERTY not in table.properties:
        return None
    return own_columns_of(from_iceberg(table.schema(), table.properties))


def keep_records(load: Callable[[], Table], name: str, keep: Collection[str]) -> Table:
    """Return the table with a column for these parts of a record; one that is there stays.

    Whoever edits `keep` in the table's file asks for it, so it needs no leave from
    `schema_evolution`. Rows that are there have null.
    """

    def missing(table: Table) -> TableChange | None:
        held = table.schema()
        # The one column alone; what it has and is not asked for any more stays.
        ours = [field for field in held.fields if field.name.casefold() == RECORD]
        found = _evolution(Schema(*ours), Record("row", (record_field(keep),)), table)
        if found.problems:
            raise Terminal(
                f"table {name} already has another column {RECORD}: {'; '.join(found.problems)}",
                "land in another table, or remove keep from the file",
            )
        others = [field for field in held.fields if field.name != RECORD]
        at = next((n for n, one in enumerate(held.fields) if one.name == RECORD), len(others))
        schema = Schema(
            *others[:at],
            *found.schema.fields,
            *others[at:],
            schema_id=held.schema_id,
            identifier_field_ids=held.identifier_field_ids,
        )
        properties = _without_bounds(found.schema)
        updates: list[TableUpdate] = [] if schema == held else schema_updates(table, schema)
        if any(table.properties.get(key) != value for key, value in properties.items()):
            updates.append(SetPropertiesUpdate(updates=properties))
        shown = [change.text for change in found.changes] or [f"store no bounds of {RECORD}"]
        return TableChange((on_schema(table),), updates, shown) if updates else None

    return changed(load, name, missing) if keep else load()


def _evolution(held: Schema, wanted: Record, table: Table) -> Evolution:
    """Return what becomes of columns of a table."""
    partitions = {one.name for spec in table.specs().values() for one in spec.fields}
    return evolution(held, wanted, table.metadata.last_column_id, partitions)


def _without_bounds(column: Schema) -> dict[str, str]:
    """Return the properties by which nobody who writes to the table puts keys into its manifests."""
    leaves = [name for name in column.column_names if column.find_type(name).is_primitive]
    return {f"write.metadata.metrics.column.{name}": "none" for name in leaves}
