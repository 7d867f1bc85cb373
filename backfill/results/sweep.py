"""Thresholds tried one after the other on the same period: which are safe, which is cheapest."""

from __future__ import annotations

import re
import time
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any, Final

import structlog

from backfill.plan.period import duration
from backfill.results.comparison import shown_percent
from backfill.results.runs import cancel
from backfill.run.options import RequestOptions, parse_duration_option, parse_request
from backfill.run.request import new_run_id, state_of
from headrace import state_files
from headrace.config.app.sinks import IcebergSink
from headrace.errors import UsageError
from headrace.iceberg.catalog import load_table, spark_name
from headrace.locks import hold
from headrace.signals import Drain
from headrace.times import MICROSECOND

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import SparkSession

    from backfill.results.compare import CompareOptions
    from backfill.run.request import ReplayRequest
    from headrace.config.load import LoadedApp
    from headrace.config.workspace.workspace import Workspace


PREFIX: Final = "sweep"
OWN: Final = re.compile(rf"{PREFIX}-\d{{8}}-\d{{6}}-\d{{6}}")
log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class SweepResult:
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


def cheapest(results: Sequence[SweepResult], min_match_percent: float) -> SweepResult | None:
    """Return the safe one that took the least time; of two equals the smaller threshold."""
    safe = [one for one in results if one.is_safe(min_match_percent)]
    return min(safe, key=lambda one: (one.took_s, one.threshold_us), default=None)


def report_text(results: Sequence[SweepResult], min_match_percent: float) -> str:
    """Write the table for a person."""
    lines = [
        (
            f"{'threshold':>10} {'match':>11} {'dropped late':>12} {'steps':>7} {'read again':>11}"
            f" {'widest step':>12} {'took':>9}"
        )
    ]
    best = cheapest(results, min_match_percent)
    for one in results:
        mark = "  ← cheapest safe" if one is best else ""
        lines.append(
            f"{duration(one.threshold_us):>10} {shown_percent(one.match_percent):>11}"
            f" {one.dropped_late:>12,} {one.steps:>7,} {one.bytes_read_again / 2**20:>7,.1f} MiB"
            f" {duration(one.state_window_us):>12} {one.took_s:>7,.1f} s{mark}"
        )
    if best is None:
        lines.append(f"none of them is safe: {min_match_percent:g} % are required")
    return "\n".join(lines)


def report_facts(results: Sequence[SweepResult], min_match_percent: float) -> dict[str, Any]:
    """Return the table for a machine."""
    best = cheapest(results, min_match_percent)
    rows = [asdict(one) | {"safe": one.is_safe(min_match_percent)} for one in results]
    return {"tried": rows, "cheapest_safe_us": None if best is None else best.threshold_us}


def forget(workspace: Workspace, run_id: str) -> None:
    """Remove all that a try has left: tags of its tables, its staging table, its state."""
    state = state_of(workspace, run_id)
    if state.record() is not None:
        cancel(workspace, run_id, delete_output=True)
    # One that ended before it had a record has nothing outside of its folder.
    state_files.remove_folder(state.folder)


def forget_killed(workspace: Workspace) -> None:
    """Remove what sweeps have left that were killed; nobody sweeps meanwhile."""
    for folder in sorted((workspace.state_dir / "backfill").glob(f"{PREFIX}-*")):
        if OWN.fullmatch(folder.name) is None:
            # A replay that its user has called so.
            continue
        log.info("removing the files of a sweep that was killed", run=folder.name)
        forget(workspace, folder.name)


@dataclass(frozen=True, slots=True)
class Sweep:
    """An application over one period, its live result, and what a match is."""

    app: LoadedApp
    workspace: Workspace
    request: ReplayRequest
    live: str
    options: CompareOptions

    def attempt(self, spark: SparkSession, drain: Drain, threshold_us: int) -> SweepResult | None:
        """Replay into a staging table, compare it, and leave nothing behind.

        None where it was asked to end before the replay was through.
        """
        # Spark is loaded when needed.
        from backfill.apps.replay import AppRun, replay_app  # noqa: PLC0415
        from backfill.results.compare import compare  # noqa: PLC0415

        run_id = new_run_id(PREFIX)
        request = replace(self.request, threshold_us=threshold_us, stage=True)
        log.info("trying", threshold=duration(threshold_us), run=run_id)
        began_s = time.monotonic()
        try:
            run = AppRun(self.app, self.workspace, run_id)
            certificate = replay_app(run, request, spark, drain)
            took_s = time.monotonic() - began_s
            if not certificate.complete:
                return None
            state = state_of(self.workspace, run_id)
            plan, staged = state.plan(), state.require_record().staged or ""
            for name in (self.live, staged):
                # The session may know a table as it was before.
                spark.catalog.refreshTable(spark_name(name))
            left, right = ((name, spark.table(spark_name(name))) for name in (self.live, staged))
            found = compare(left, right, self.options)
        finally:
            forget(self.workspace, run_id)
        return SweepResult(
            threshold_us,
            round(took_s, 1),
            certificate.steps,
            sum(source.bytes_read_again for source in plan.sources),
            plan.state_window_us,
            certificate.dropped_late,
            found.match_percent,
        )


def sweep_thresholds(
    workspace: Workspace,
    period: RequestOptions,
    thresholds: Sequence[str],
    key: tuple[str, ...],
    ignored: tuple[str, ...],
) -> list[SweepResult]:
    """Try each threshold over a period of an application, until asked to drain."""
    tries = [parse_duration_option("--thresholds", one) // MICROSECOND for one in thresholds]
    app, request = parse_request(period, workspace)
    if app is None or not tries or not key:
        raise UsageError("a sweep needs thresholds and a key", "--thresholds A,B --key A,B")
    sink = app.config.sink
    if not isinstance(sink, IcebergSink) or sink.time_column is None:
        raise UsageError(
            f"{app.config.name} cannot be swept",
            "its sink must be a table with a time_column, to compare with",
        )
    load_table(workspace, sink.identifier)
    from backfill.results.compare import CompareOptions  # noqa: PLC0415 - Spark is loaded when needed
    from headrace.spark import session  # noqa: PLC0415 - as above

    compared = CompareOptions(key, ignored, sink.time_column, request.emitted, examples=0)
    sweep = Sweep(app, workspace, request, sink.identifier, compared)
    results: list[SweepResult] = []
    lock = workspace.state_dir / "backfill" / "sweeping"
    with (
        hold(
            lock,
            "a sweep of this workspace",
            "wait until it has ended: two sweeps would slow each other down",
        ),
        Drain() as drain,
        session(workspace, "backfill-sweep") as spark,
    ):
        forget_killed(workspace)
        for threshold_us in tries:
            found = None if drain.requested else sweep.attempt(spark, drain, threshold_us)
            if found is None:
                break
            results.append(found)
    return results
