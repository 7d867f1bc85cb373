"""Thresholds tried one after the other on the same period: which are safe, which is cheapest."""

from __future__ import annotations

import json
import shutil
import time
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING

import structlog

from backfill.plan_report import duration
from backfill.results.comparison import shown_percent

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import SparkSession

    from backfill.request import Request
    from backfill.results.compare import Wish
    from headrace.config.load import LoadedApp
    from headrace.config.workspace import Workspace
    from headrace.signals import Drain

PREFIX = "sweep"
log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Tried:
    """One threshold: what it cost, and how much of its result matches."""

    threshold_us: int
    took_s: float
    steps: int
    bytes_read_again: int
    state_window_us: int
    dropped_late: int
    match_percent: float

    def is_safe(self, min_match_percent: float) -> bool:
        """Whether nothing was dropped and enough matches."""
        return self.dropped_late == 0 and self.match_percent >= min_match_percent


def cheapest(tried: Sequence[Tried], min_match_percent: float) -> Tried | None:
    """Return the safe one that took the least time; of two equals the smaller threshold."""
    safe = [one for one in tried if one.is_safe(min_match_percent)]
    return min(safe, key=lambda one: (one.took_s, one.threshold_us), default=None)


def as_text(tried: Sequence[Tried], min_match_percent: float) -> str:
    """Write the table for a person."""
    lines = [
        (
            f"{'threshold':>10} {'match':>11} {'dropped late':>12} {'steps':>7} {'read again':>11}"
            f" {'widest step':>12} {'took':>9}"
        )
    ]
    best = cheapest(tried, min_match_percent)
    for one in tried:
        mark = "  ← cheapest safe" if one is best else ""
        lines.append(
            f"{duration(one.threshold_us):>10} {shown_percent(one.match_percent):>11}"
            f" {one.dropped_late:>12,} {one.steps:>7,} {one.bytes_read_again / 2**20:>7,.1f} MiB"
            f" {duration(one.state_window_us):>12} {one.took_s:>7,.1f} s{mark}"
        )
    if best is None:
        lines.append(f"none of them is safe: {min_match_percent:g} % were asked for")
    return "\n".join(lines)


def as_json(tried: Sequence[Tried], min_match_percent: float) -> str:
    """Write the table for a machine."""
    best = cheapest(tried, min_match_percent)
    rows = [asdict(one) | {"safe": one.is_safe(min_match_percent)} for one in tried]
    whole = {"tried": rows, "cheapest_safe_us": None if best is None else best.threshold_us}
    return json.dumps(whole, indent=2)


def forget(workspace: Workspace, run_id: str) -> None:
    """Remove all that a try has left: tags of its tables, its staging table, its state."""
    from backfill.request import state_of  # noqa: PLC0415 - a help text needs no Spark
    from backfill.runs import cancel  # noqa: PLC0415 - as above

    state = state_of(workspace, run_id)
    if state.record() is not None:
        cancel(workspace, run_id, delete_output=True)
    # One that ended before it had a record has nothing outside of its folder.
    shutil.rmtree(state.folder, ignore_errors=True)


def forget_killed(workspace: Workspace) -> None:
    """Remove what sweeps have left that were killed; nobody sweeps meanwhile."""
    for folder in sorted((workspace.state_dir / "backfill").glob(f"{PREFIX}-*")):
        log.info("removing what a killed sweep has left", run=folder.name)
        forget(workspace, folder.name)


@dataclass(frozen=True, slots=True)
class Sweep:
    """An application over one period, its live result, and what a match is."""

    app: LoadedApp
    workspace: Workspace
    request: Request
    live: str
    wish: Wish

    def attempt(self, spark: SparkSession, drain: Drain, threshold_us: int) -> Tried | None:
        """Replay into a staging table, compare it, and leave nothing behind.

        None where it was asked to end before the replay was through.
        """
        from backfill.request import new_run_id  # noqa: PLC0415 - a help text needs no Spark

        run_id = new_run_id().replace("replay", PREFIX)
        try:
            return self._tried(spark, drain, threshold_us, run_id)
        finally:
            forget(self.workspace, run_id)

    def _tried(
        self, spark: SparkSession, drain: Drain, threshold_us: int, run_id: str
    ) -> Tried | None:
        from backfill.app_replay import AppRun, replay_app  # noqa: PLC0415 - as above
        from backfill.request import state_of  # noqa: PLC0415 - as above
        from backfill.results.compare import compare  # noqa: PLC0415 - as above
        from headrace.iceberg.spark_names import spark_name  # noqa: PLC0415 - as above

        request = replace(self.request, threshold_us=threshold_us, stage=True)
        log.info("trying", threshold=duration(threshold_us), run=run_id)
        began_s = time.monotonic()
        certificate = replay_app(AppRun(self.app, self.workspace, run_id), request, spark, drain)
        took_s = time.monotonic() - began_s
        if not certificate.complete:
            return None
        state = state_of(self.workspace, run_id)
        plan, record = state.plan(), state.record()
        staged = "" if record is None or record.staged is None else record.staged
        for name in (self.live, staged):
            # The session may know a table as it was before.
            spark.catalog.refreshTable(spark_name(name))
        frames = [(name, spark.table(spark_name(name))) for name in (self.live, staged)]
        found = compare(frames[0], frames[1], self.wish)
        return Tried(
            threshold_us,
            round(took_s, 1),
            certificate.steps,
            sum(source.bytes_read_again for source in plan.sources),
            plan.state_window_us,
            certificate.dropped_late,
            found.match_percent,
        )
