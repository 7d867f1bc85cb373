"""A table that is sent to tasks on other machines: these reach its files, but not its catalog."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import msgspec
from pyiceberg.table import StaticTable

from backfill.plan.plan import Plan
from headrace.iceberg.catalog import load_table

if TYPE_CHECKING:
    from pyiceberg.table import Table

    from headrace.config.workspace.workspace import Workspace
    from headrace.jvm.relay import RelayAddress


@dataclass(frozen=True, slots=True)
class SerializableTable:
    """Where a table's metadata is, the plan without its steps, and where tasks send measurements."""

    metadata_location: str
    properties: tuple[tuple[str, str], ...]
    plan_head: bytes
    relay: RelayAddress

    def __repr__(self) -> str:
        # Properties may hold a password.
        return f"SerializableTable({self.metadata_location})"

    @classmethod
    def of(
        cls, workspace: Workspace, name: str, plan: Plan, relay: RelayAddress
    ) -> SerializableTable:
        """Look up a table on the driver."""
        table = load_table(workspace, name)
        properties = tuple(sorted((key, str(value)) for key, value in table.io.properties.items()))
        return cls(table.metadata_location, properties, msgspec.json.encode(plan), relay)

    def open(self) -> Table:
        """Open the table in a task."""
        return StaticTable.from_metadata(self.metadata_location, dict(self.properties))

    def plan(self) -> Plan:
        """Return the plan, without its steps."""
        return msgspec.json.decode(self.plan_head, type=Plan)
