"""Tables that a job follows: whether they still have the snapshots that a batch goes on from."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from backfill.follow import holding
from backfill.follow.place import Place
from headrace.iceberg.catalog import load_table

if TYPE_CHECKING:
    from headrace.config.workspace import Workspace
    from stream_app.rewind.batches import Batch


@dataclass(slots=True)
class Followed:
    """The tables as they are now, each looked at once."""

    workspace: Workspace
    _known: dict[str, set[int]] = field(default_factory=dict)

    def judged(self, batch: Batch) -> Batch:
        """Return the batch with the table that has let go what it needs, where one has."""
        if batch.obstacle is not None:
            return batch
        for said in batch.followed:
            for table, seen in Place.from_json(said).tables.items():
                if not seen.needed <= self._snapshots(table):
                    return replace(batch, obstacle=f"its snapshot of {table} has expired")
        return batch

    def hold(self, batch: Batch, holder: str) -> None:
        """Hold the snapshots that the batch goes on from, beside those that are held already."""
        for said in batch.followed:
            for name, seen in Place.from_json(said).tables.items():
                table = load_table(self.workspace, name)
                holding.move(table, holder, seen.needed | holding.held(table, holder))

    def _snapshots(self, table: str) -> set[int]:
        if table not in self._known:
            metadata = load_table(self.workspace, table).metadata
            self._known[table] = {one.snapshot_id for one in metadata.snapshots}
        return self._known[table]
