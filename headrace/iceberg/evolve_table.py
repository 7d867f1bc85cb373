"""Bringing a table to the schema of its records and to the partitions of its file."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from pyiceberg.table.update import (
    AddPartitionSpecUpdate,
    AssertDefaultSpecId,
    AssertLastAssignedPartitionId,
    SetDefaultSpecUpdate,
    SetPropertiesUpdate,
)

from headrace.contract import own_columns as own_columns_of
from headrace.contract import with_metadata
from headrace.errors import Terminal
from headrace.iceberg.changing import Change, changed, on_schema, schema_updates
from headrace.iceberg.evolution import evolution
from headrace.iceberg.specs import next_spec, shown
from headrace.schema.avro import to_avro
from headrace.schema.iceberg import from_iceberg
from headrace.schema.recall import PROPERTY

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pyiceberg.table import Table
    from pyiceberg.table.update import TableUpdate

    from headrace.config.partitioning import Partition
    from headrace.iceberg.evolution import Evolution, Follows
    from headrace.schema.model import Record


class DoesNotFit(Terminal):
    """A table whose columns are not those of the schema, and are not to become them."""

    def __init__(self, name: str, found: Evolution, follows: Follows) -> None:
        beyond = found.beyond(follows)
        self.reasons = (*found.problems, *(f"it would have to {one.text}" for one in beyond))
        advice = "name another table, or bring schema and table together"
        if not found.problems:
            needed = "widen" if any(one.needs == "widen" for one in beyond) else "add_columns"
            advice = f"schema_evolution: {needed} lets the table follow; otherwise {advice}"
        super().__init__(f"table {name} does not fit the schema: {'; '.join(self.reasons)}", advice)


def follow(load: Callable[[], Table], name: str, record: Record, follows: Follows) -> Table:
    """Return the table with columns for the record's fields; DoesNotFit where that may not be."""
    wanted = with_metadata(record)
    said = json.dumps(to_avro(wanted))

    def missing(table: Table) -> Change | None:
        partitions = {one.name for spec in table.specs().values() for one in spec.fields}
        found = evolution(table.schema(), wanted, table.metadata.last_column_id, partitions)
        if found.problems or found.beyond(follows):
            raise DoesNotFit(name, found, follows)
        is_said = follows == "none" or table.properties.get(PROPERTY) == said
        if found.schema is table.schema() and is_said:
            return None
        return _columns_change(table, found, said)

    return changed(load, name, missing)


def follow_partitions(
    load: Callable[[], Table], name: str, partitions: Sequence[Partition]
) -> Table:
    """Return the table with these partitions for the files to come; those that are there stay."""

    def missing(table: Table) -> Change | None:
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
        return Change(conditions, updates, [f"partition new files by {after} instead of {before}"])

    return changed(load, name, missing)


def own_columns(table: Table) -> Record | None:
    """Return the schema that a table was last brought to; None where it does not say."""
    if PROPERTY not in table.properties:
        return None
    return own_columns_of(from_iceberg(table.schema(), table.properties))


def _columns_change(table: Table, found: Evolution, said: str) -> Change:
    updates: list[TableUpdate] = [SetPropertiesUpdate(updates={PROPERTY: said})]
    if found.schema is not table.schema():
        updates += schema_updates(table, found.schema)
    return Change((on_schema(table),), updates, [change.text for change in found.changes])
