"""Bringing a table's columns to the schema of its records, beside whoever else works on it."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Final

import structlog
from pyiceberg.table.update import (
    AddSchemaUpdate,
    AssertCurrentSchemaId,
    SetCurrentSchemaUpdate,
    SetPropertiesUpdate,
)

from headrace.contract import with_metadata, without_metadata
from headrace.errors import Terminal, Transient
from headrace.iceberg.append import HeadMoved, NoAnswer, commit_if
from headrace.iceberg.evolution import evolution
from headrace.schema.avro import to_avro
from headrace.schema.iceberg import from_iceberg
from headrace.schema.recall import PROPERTY

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyiceberg.table import Table
    from pyiceberg.table.update import TableUpdate

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


def follow(load: Callable[[], Table], name: str, record: Record, follows: Follows) -> Table:
    """Return the table with columns for the record's fields; DoesNotFit where that may not be.

    The catalog takes the change only on the very schema that was looked at: where somebody else
    changed the table in between, it is looked at again.
    """
    wanted, why = with_metadata(record), ""
    for wait_s in WAITS_S:
        time.sleep(wait_s)
        table = load()
        partitions = {one.name for spec in table.specs().values() for one in spec.fields}
        found = evolution(table.schema(), wanted, table.metadata.last_column_id, partitions)
        if found.problems or found.beyond(follows):
            raise DoesNotFit(name, found, follows)
        said = json.dumps(to_avro(wanted))
        is_said = follows == "none" or table.properties.get(PROPERTY) == said
        if found.schema is table.schema() and is_said:
            return table
        try:
            after = _change(table, found, said)
        except (HeadMoved, NoAnswer) as problem:
            why = str(problem)
            log.info("the table has changed, looking again", table=name, why=why)
            continue
        for change in found.changes:
            log.info("the table follows its schema", table=name, did=change.text)
        return after
    raise Transient(
        f"the catalog did not take the new columns of {name} in {len(WAITS_S)} attempts ({why})",
        "start it again when the catalog answers",
    )


def own_columns(table: Table) -> Record | None:
    """Return the schema that a table was last brought to; None where it does not say."""
    if PROPERTY not in table.properties:
        return None
    return without_metadata(from_iceberg(table.schema(), table.properties))


def _change(table: Table, found: Evolution, said: str) -> Table:
    updates: list[TableUpdate] = [SetPropertiesUpdate(updates={PROPERTY: said})]
    if found.schema is not table.schema():
        number = max(schema.schema_id for schema in table.metadata.schemas) + 1
        schema = found.schema.model_copy(update={"schema_id": number})
        updates += [AddSchemaUpdate(schema_=schema), SetCurrentSchemaUpdate(schema_id=-1)]
    condition = AssertCurrentSchemaId(current_schema_id=table.metadata.current_schema_id)
    return commit_if(condition, table, updates)
