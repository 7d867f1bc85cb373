"""A table's columns and the schema that its records are read by, kept together.

The schema is looked at before every batch, after it is known up to where the batch goes: whoever
wrote a record of it with a newer schema had published that before.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import structlog

from headrace.contract import VALUE_FORMAT
from headrace.errors import Terminal
from headrace.iceberg.evolve_table import DoesNotFit, follow, keep_records, own_columns
from headrace.iceberg.tables import ensure_table
from headrace.landing.record_columns import decoder
from lake_writer.plan import schema_of, values_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyiceberg.table import Table

    from headrace.config.load import LoadedLakeTable
    from headrace.config.workspace.workspace import Workspace
    from headrace.landing.topic_values import Values
    from headrace.schema.model import Record

log = structlog.get_logger(__name__)


class Following:
    """Follows the schema as its author changes it, as far as the table's file allows."""

    def __init__(
        self, workspace: Workspace, table: LoadedLakeTable, load: Callable[[], Table]
    ) -> None:
        self._workspace = workspace
        self._table = table
        self._load = load
        self._newest = schema_of(workspace, table)
        self._schema_id = -1
        self._logged = ""
        self.values = self._read_by(self._newest)

    def begin(self) -> None:
        """Make the table, or bring it to the schema, which may have changed since the last run."""
        config = self._table.config
        said = {VALUE_FORMAT: config.source.format}
        self._bring(
            self._newest,
            lambda: ensure_table(
                self._workspace, config.table, self._newest, config.schema_evolution, said
            ),
        )
        table = keep_records(self._load, config.table.identifier, config.keep)
        self._schema_id = table.metadata.current_schema_id

    def before_batch(self, table: Table) -> Table:
        """Return the table with the columns that the next batch needs."""
        newest = self._look()
        if newest == self._newest and table.metadata.current_schema_id == self._schema_id:
            return table
        config = self._table.config
        return self._bring(
            newest,
            lambda: follow(self._load, config.table.identifier, newest, config.schema_evolution),
        )

    def _look(self) -> Record:
        """Return the schema as it is now; the one before, as long as it cannot be used."""
        if self._table.config.schema_evolution == "none":
            return self._newest
        try:
            newest = schema_of(self._workspace, self._table)
            if newest != self._newest:
                # Hygiene may name a column that is gone.
                self._read_by(newest)
        except (Terminal, RecursionError) as problem:
            # Half of it may be saved: what was good a moment ago is good enough until it is.
            why = str(problem)
            if why != self._logged:
                log.warning(
                    "the new schema cannot be used; the previous one stays in use", reason=why
                )
            self._logged = why
            return self._newest
        if self._logged:
            log.info("the schema can be used again")
        self._logged = ""
        return newest

    def _bring(self, newest: Record, change: Callable[[], Table]) -> Table:
        schema, unfollowed = newest, None
        try:
            table = change()
        except DoesNotFit as problem:
            table = self._load()
            before = own_columns(table)
            if self._table.config.on_incompatible_schema == "stop" or before is None:
                raise
            schema, unfollowed = before, newest
            log.warning(
                "the table cannot follow the new schema; the previous one stays in use",
                reason=problem.message,
            )
        self.values = self._read_by(schema, unfollowed)
        self._newest, self._schema_id = newest, table.metadata.current_schema_id
        return table

    def _read_by(self, schema: Record, unfollowed: Record | None = None) -> Values:
        values = replace(values_of(self._workspace, self._table, schema), unfollowed=unfollowed)
        decoder(values, None)
        return values
