"""The table that a hybrid source began with: whether its history can be read again."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from backfill import tags
from backfill.request import sources_of, state_of
from headrace.iceberg.catalog import load_table

if TYPE_CHECKING:
    from collections.abc import Mapping

    from backfill.plan import Plan
    from headrace.config.workspace import Workspace
    from stream_app.rewind.batches import Batch


@dataclass(frozen=True, slots=True)
class Past:
    """The steps over the tables that a job began with, and what of the tables has expired."""

    workspace: Workspace
    run_id: str
    plan: Plan
    expired: tuple[str, ...]

    @classmethod
    def of(cls, workspace: Workspace, run_id: str) -> Past:
        """Look at the tables as they are now."""
        plan = state_of(workspace, run_id).plan()
        expired = tuple(
            one.name
            for one in plan.sources
            if one.snapshot_id is not None
            and load_table(workspace, one.name).snapshot_by_id(one.snapshot_id) is None
        )
        return cls(workspace, run_id, plan, expired)

    def judged(self, batch: Batch) -> Batch:
        """Return the batch with what is missing of the history, where something is."""
        if batch.obstacle is not None or not self.expired or not self._is_within(batch):
            return batch
        return replace(batch, obstacle=f"its snapshot of {', '.join(self.expired)} has expired")

    def hold(self, batch: Batch) -> None:
        """Hold the tables' snapshots again, where the batch is within their history."""
        if self._is_within(batch):
            for source in sources_of(self.workspace, self.plan).values():
                tags.hold(source, self.run_id)

    def _is_within(self, batch: Batch) -> bool:
        return any(_step(one) < len(self.plan.steps) for one in batch.offsets if "past" in one)


def _step(said: Mapping[str, Mapping[str, int]]) -> int:
    return said["past"]["step"]
