"""Changing a table's columns, partitions or properties while others work on it.

The catalog takes each change only on the very table that was looked at. Where somebody else changed
it in between, it is looked at again.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import structlog
from pyiceberg.table.update import AddSchemaUpdate, AssertCurrentSchemaId, SetCurrentSchemaUpdate

from headrace.errors import Transient
from headrace.iceberg.append import HeadMoved, NoAnswer, commit_if
from headrace.retries import retry

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pyiceberg.schema import Schema
    from pyiceberg.table import Table
    from pyiceberg.table.update import TableRequirement, TableUpdate

ATTEMPTS: Final = 5
FIRST_WAIT_S: Final = 0.1
log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class TableChange:
    """What the catalog is asked to do, on which conditions, and what that is in words."""

    conditions: Sequence[TableRequirement]
    updates: Sequence[TableUpdate]
    changes: Sequence[str]


def schema_updates(table: Table, schema: Schema) -> list[TableUpdate]:
    """Return what makes a schema the table's current one."""
    number = max(held.schema_id for held in table.metadata.schemas) + 1
    numbered = schema.model_copy(update={"schema_id": number})
    return [AddSchemaUpdate(schema_=numbered), SetCurrentSchemaUpdate(schema_id=-1)]


def on_schema(table: Table) -> TableRequirement:
    """Return the condition that the table's schema is still the one that was seen."""
    return AssertCurrentSchemaId(current_schema_id=table.metadata.current_schema_id)


def changed(
    load: Callable[[], Table], name: str, missing: Callable[[Table], TableChange | None]
) -> Table:
    """Return the table when nothing is missing any more."""

    def once() -> Table:
        table = load()
        change = missing(table)
        if change is None:
            return table
        after = commit_if(change.conditions, table, change.updates)
        for text in change.changes:
            log.info("the table was changed to match its file", table=name, did=text)
        return after

    try:
        return retry(once, (HeadMoved, NoAnswer), ATTEMPTS, FIRST_WAIT_S)
    except (HeadMoved, NoAnswer) as problem:
        raise Transient(
            f"the catalog did not change {name} in {ATTEMPTS} attempts ({problem})",
            "start it again when the catalog answers",
        ) from problem
