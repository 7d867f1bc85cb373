"""From the words of `backfill sweep` to its table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from backfill.asked import MICROSECOND, Asked, duration_of, understood
from backfill.results.compared import percent_of
from backfill.results.sweep import Sweep, as_text, cheapest, forget_killed
from backfill.results.sweep import as_json as in_json
from headrace.config.app_sinks import IcebergSink
from headrace.contract import INGESTION_TS
from headrace.errors import UsageError
from headrace.iceberg.catalog import load_table
from headrace.locks import hold
from headrace.signals import Drain

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from headrace.config.workspace import Workspace


def swept(  # noqa: PLR0913, PLR0917 - what the command line asks for
    workspace: Workspace,
    app_path: Path,
    period: tuple[str, str],
    around: tuple[str | None, str | None],
    names: Sequence[tuple[str, ...]],
    min_match: str,
    *,
    as_json: bool,
) -> tuple[str, bool]:
    """Try each threshold; returns the report, and whether one of them is safe."""
    thresholds, key, ignored = names
    least = percent_of(min_match)
    tries = [duration_of("--thresholds", one) // MICROSECOND for one in thresholds]
    app, request = understood(_asked(app_path, period, around), workspace)
    if app is None or not tries or not key:
        raise UsageError("a sweep tries thresholds by a key", "--thresholds A,B --key A,B")
    sink = app.config.sink
    if not isinstance(sink, IcebergSink) or sink.time_column is None:
        raise UsageError(
            f"{app.config.name} cannot be swept",
            "its sink has to be a table with a time_column, to be compared with",
        )
    load_table(workspace, sink.identifier)
    from backfill.results.compare import Wish  # noqa: PLC0415 - Spark is loaded when needed
    from headrace.spark import session  # noqa: PLC0415 - as above

    wish = Wish(key, ignored, sink.time_column, request.emitted, examples=0)
    one_app = Sweep(app, workspace, request, sink.identifier, wish)
    tried = []
    lock = workspace.state_dir / "backfill" / "sweeping"
    with (
        hold(lock, "a sweep of this workspace", "wait for it: each would slow down the other"),
        Drain() as drain,
        session(workspace, "backfill-sweep") as spark,
    ):
        forget_killed(workspace)
        for threshold_us in tries:
            found = None if drain.requested else one_app.attempt(spark, drain, threshold_us)
            if found is None:
                break
            tried.append(found)
    report = in_json if as_json else as_text
    return report(tried, least), cheapest(tried, least) is not None


def _asked(app_path: Path, period: tuple[str, str], around: tuple[str | None, str | None]) -> Asked:
    return Asked(
        app_path=app_path,
        tables=(),
        start=period[0],
        end=period[1],
        regions="",
        threshold=None,
        order=None,
        rate_limit=None,
        time_column=INGESTION_TS,
        scan=False,
        warmup=around[0],
        cooldown=around[1],
    )
