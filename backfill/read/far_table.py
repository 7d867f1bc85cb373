"""A table for tasks that reach its files, and neither its catalog nor the driver's disk."""

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
class FarTable:
    """What goes along with the work: where the table is, the plan's head, and where measures go."""

    metadata_location: str
    properties: tuple[tuple[str, str], ...]
    plan_head: bytes
    relay: RelayAddress

    def __repr__(self) -> str:
        # Properties may hold a password.
        return f"FarTable({self.metadata_location})"

    @classmethod
    def of(cls, workspace: Workspace, name: str, plan: Plan, relay: RelayAddress) -> FarTable:
        """Look a table up, here."""
        table = load_table(workspace, name)
        properties = tuple(sorted((key, str(value)) for key, value in table.io.properties.items()))
        return cls(table.metadata_location, properties, msgspec.json.encode(plan), relay)

    def open(self) -> Table:
        """Open it, there."""
        return StaticTable.from_metadata(self.metadata_location, dict(self.properties))

    def plan(self) -> Plan:
        """Return the plan, without its steps."""
        return msgspec.json.decode(self.plan_head, type=Plan)
