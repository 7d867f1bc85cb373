"""From the name of a run to its result in the application's table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from backfill import tags
from backfill.request import held_by, state_of
from headrace.errors import UsageError
from headrace.locks import hold

if TYPE_CHECKING:
    from headrace.config.workspace import Workspace


def published(workspace: Workspace, run_id: str) -> tuple[str, int]:
    """Publish what a run has staged; returns the table and the rows."""
    state = state_of(workspace, run_id)
    state.require()
    record = state.record()
    if record is None or record.app is None or record.staged is None:
        raise UsageError(f"run {run_id} has staged nothing", "backfill replay -c APP.yaml --stage")
    if not state.certificate.exists():
        raise UsageError(
            f"run {run_id} is not through", f"backfill replay --resume --run-id {run_id}"
        )
    from backfill.results.publish import publish  # noqa: PLC0415 - Spark is loaded when needed
    from headrace.spark import session  # noqa: PLC0415 - as above

    with (
        hold(state.lock, *held_by(run_id)),
        session(workspace, "backfill-publish") as spark,
    ):
        # A replay that was killed at its end has left them.
        tags.release_all(workspace, state, run_id)
        rows = publish(spark, workspace, run_id, record)
    return record.to.partition(":")[2], rows
