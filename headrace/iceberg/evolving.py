"""Bringing a table to the schema of its records and to the partitions of its file.

Others work on it meanwhile: the catalog takes each change only on the very table that was looked
at. Where somebody else changed it in between, it is looked at again.
"""

from __future__ import annotations

import json
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import structlog
from pyiceberg.table.update import (
    AddPartitionSpecUpdate,
    AddSchemaUpdate,
    AssertCurrentSchemaId,
    AssertDefaultSpecId,
    AssertLastAssignedPartitionId,
    SetCurrentSchemaUpdate,
    SetDefaultSpecUpdate,
    SetPropertiesUpdate,
)

from headrace.contract import with_metadata, without_metadata
from headrace.errors import Terminal, Transient
from headrace.iceberg.append import HeadMoved, NoAnswer, commit_if
from headrace.iceberg.evolution import evolution
from headrace.iceberg.specs import next_spec, shown
from headrace.schema.avro import to_avro
from headrace.schema.iceberg import from_iceberg
from headrace.schema.recall import PROPERTY

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pyiceberg.table import Table
    from pyiceberg.table.update import TableRequirement, TableUpdate

    from headrace.config.partitioning import Partition
    from headrace.iceberg.evolution import Evolution, Follows
    from headrace.schema.model import Record

WAITS_S: Final = (0.0, 0.1, 0.4, 1.6)
log = structlog.get_logger(__name__)


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


@dataclass(frozen=True, slots=True)
class _Change:
    """What the catalog is asked to do, on which conditions, and what that is in words."""

    conditions: Sequence[TableRequirement]
    updates: Sequence[TableUpdate]
    told: Sequence[str]


def follow(load: Callable[[], Table], name: str, record: Record, follows: Follows) -> Table:
    """Return the table with columns for the record's fields; DoesNotFit where that may not be."""
    wanted = with_metadata(record)
    said = json.dumps(to_avro(wanted))

    def missing(table: Table) -> _Change | None:
        partitions = {one.name for spec in table.specs().values() for one in spec.fields}
        found = evolution(table.schema(), wanted, table.metadata.last_column_id, partitions)
        if found.problems or found.beyond(follows):
            raise DoesNotFit(name, found, follows)
        is_said = follows == "none" or table.properties.get(PROPERTY) == said
        if found.schema is table.schema() and is_said:
            return None
        return _columns_change(table, found, said)

    return _changed(load, name, missing)


def follow_partitions(
    load: Callable[[], Table], name: str, partitions: Sequence[Partition]
) -> Table:
    """Return the table with these partitions for the files to come; those that are there stay."""

    def missing(table: Table) -> _Change | None:
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
        return _Change(conditions, updates, [f"partition new files by {after} instead of {before}"])

    return _changed(load, name, missing)


def own_columns(table: Table) -> Record | None:
    """Return the schema that a table was last brought to; None where it does not say."""
    if PROPERTY not in table.properties:
        return None
    return without_metadata(from_iceberg(table.schema(), table.properties))


def _columns_change(table: Table, found: Evolution, said: str) -> _Change:
    updates: list[TableUpdate] = [SetPropertiesUpdate(updates={PROPERTY: said})]
    if found.schema is not table.schema():
        number = max(schema.schema_id for schema in table.metadata.schemas) + 1
        schema = found.schema.model_copy(update={"schema_id": number})
        updates += [AddSchemaUpdate(schema_=schema), SetCurrentSchemaUpdate(schema_id=-1)]
    condition = AssertCurrentSchemaId(current_schema_id=table.metadata.current_schema_id)
    return _Change((condition,), updates, [change.text for change in found.changes])


def _changed(
    load: Callable[[], Table], name: str, missing: Callable[[Table], _Change | None]
) -> Table:
    """Return the table when nothing is missing any more."""
    why = ""
    for wait_s in WAITS_S:
        time.sleep(wait_s)
        table = load()
        change = missing(table)
        if change is None:
            return table
        try:
            after = commit_if(change.conditions, table, change.updates)
        except (HeadMoved, NoAnswer) as problem:
            why = str(problem)
            log.info("the table has changed, looking again", table=name, why=why)
            continue
        for text in change.told:
            log.info("the table follows its file", table=name, did=text)
        return after
    raise Transient(
        f"the catalog did not change {name} in {len(WAITS_S)} attempts ({why})",
        "start it again when the catalog answers",
    )
