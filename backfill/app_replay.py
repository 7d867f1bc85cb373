"""Running an application over the past: its sources aligned step by step, its sink its own."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from pyspark.sql import functions as F  # noqa: N812 - as everybody names it

from backfill import tags
from backfill.asked import tables_of
from backfill.certificate import Certificate, SourceCount
from backfill.disorder import DisorderMeter
from backfill.replay import MS
from backfill.state import RunState
from backfill.streams import Replay
from headrace.application.sinks import start
from headrace.application.transform import Sources, result_of, with_watermarks
from headrace.contract import INGESTION_TS
from headrace.locks import hold
from headrace.streaming import finish

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import DataFrame, SparkSession

    from backfill.request import Request
    from headrace.config.load import LoadedApp
    from headrace.config.workspace import Workspace
    from headrace.signals import Drain

MEASURE = "headrace.source:"


@dataclass(frozen=True, slots=True)
class AppRun:
    """An application and where it is to run."""

    app: LoadedApp
    workspace: Workspace
    run_id: str


def replay_app(run: AppRun, request: Request, spark: SparkSession, drain: Drain) -> Certificate:
    """Run an application over a period; its certificate says what was read, and what was late."""
    state = RunState(run.workspace.state_dir / "backfill" / run.run_id)
    with hold(state.lock, f"replay {run.run_id}", "wait for it, or choose another --run-id"):
        state.refuse_existing()
        replay = Replay.of(run.workspace, request)
        sources = replay.sources()
        for source in sources.values():
            tags.hold(source, run.run_id)
        streams = replay.streams(spark, run.run_id)
        frames = {
            name: _measured(streams[table], table) for name, table in tables_of(run.app).items()
        }
        # In a replay a record may come by the threshold later than it came live.
        widened = timedelta(microseconds=request.threshold_us)
        marked = with_watermarks(run.app, frames, widened)
        result = result_of(run.app, Sources(spark, marked), run.workspace.root)
        checkpoint = state.folder / "checkpoint"
        config = run.app.config
        query = start(result, config.sink, run.workspace, run.run_id, checkpoint, once=False)
        finish(query, config.name, drain, until_no_data=True)
        progress = [_as_dict(one) for one in query.recentProgress]
        certificate = _certificate(replay, progress)
        state.keep_certificate(certificate.to_json())
        for source in sources.values():
            tags.release(source, run.run_id)
        return certificate


def _measured(stream: DataFrame, table: str) -> DataFrame:
    time = F.unix_micros(F.col(INGESTION_TS))
    return stream.observe(
        MEASURE + table,
        F.count(F.lit(1)).alias("rows"),
        F.min(time).alias("oldest"),
        F.max(time).alias("newest"),
    )


def _certificate(replay: Replay, batches: list[Mapping[str, Any]]) -> Certificate:
    plan = replay.plan
    rows: Counter[str] = Counter()
    meter = DisorderMeter()
    late = 0
    for batch in batches:
        meter.begin_step()
        late += sum(state["numRowsDroppedByWatermark"] for state in batch["stateOperators"])
        for name, seen in batch.get("observedMetrics", {}).items():
            if name.startswith(MEASURE) and seen["rows"]:
                rows[name.removeprefix(MEASURE)] += seen["rows"]
                meter.see(seen["oldest"], seen["newest"])
    done = max((int(batch["sources"][0]["endOffset"]["step"]) for batch in batches), default=0)
    return Certificate(
        period=str(plan.period),
        order=plan.order,
        steps=done,
        threshold_ms=plan.threshold_us / MS if plan.order == "bounded" else None,
        max_disorder_ms=meter.max_disorder_us / MS,
        dropped_late=late,
        complete=done == len(plan.steps),
        sources=tuple(
            SourceCount(source.name, source.snapshot_id, source.files, rows[source.name])
            for source in plan.sources
        ),
    )


def _as_dict(progress: Any) -> Mapping[str, Any]:  # noqa: ANN401 - pyspark gives its own class
    import json  # noqa: PLC0415

    whole: dict[str, Any] = json.loads(progress.json)
    for source in whole["sources"]:
        if isinstance(source["endOffset"], str):
            source["endOffset"] = json.loads(source["endOffset"])
    return whole
