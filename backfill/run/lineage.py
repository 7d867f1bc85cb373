"""A replay as a job of lineage: what it reads and writes, and its certificate as tests that it ran."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from backfill.run.options import parse_target
from backfill.run.request import ReplayRequest
from headrace.lineage.declared import app_sink
from headrace.lineage.jobs import LineageDataset, LineageJob, LineageResult, LineageTest
from headrace.times import format_time_us

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from backfill.plan.period import Period
    from backfill.run.certificate import Certificate
    from backfill.run.state import RunRecord
    from headrace.config.load import LoadedApp


def job_of(
    run_id: str, app: LoadedApp | None, to: str | None, asked: ReplayRequest | RunRecord | None
) -> LineageJob:
    """Return what lineage is told of a run that begins; where its result is, is known at its end."""
    tables = () if asked is None else asked.tables
    period = asked.period if isinstance(asked, ReplayRequest) else None
    if app is None:
        target = parse_target(to or "")
        where = f"jsonl:{target.absolute()}" if isinstance(target, Path) else to
        return replay_job(run_id, ",".join(tables), tables, where, period)
    is_staged = isinstance(asked, ReplayRequest) and asked.stage
    lookups = [one.identifier for one in app.config.lookups.values()]
    where = None if is_staged else app_sink(app)
    return replay_job(run_id, app.config.name, [*tables, *lookups], where, period)


def replay_job(
    run_id: str, what: str, tables: Sequence[str], to: str | None, period: Period | None
) -> LineageJob:
    """Return the job of a replay; its runs are told apart by their tag `run_id`."""
    return LineageJob(
        f"replay.{what}",
        "REPLAY",
        is_lasting=False,
        inputs=[LineageDataset(f"iceberg:{one}") for one in dict.fromkeys(tables)],
        outputs=[] if to is None else [LineageDataset(to)],
        period=None
        if period is None
        else (format_time_us(period.start_us), format_time_us(period.end_us_exclusive)),
        tags={"run_id": run_id},
    )


def replay_result(found: Certificate, to: str, *, is_of_records: bool) -> LineageResult:
    """Return what a certificate says; of an application it does not count what was written."""
    return LineageResult(
        is_complete=found.complete,
        tests=list(_tests(found)),
        snapshots={
            f"iceberg:{one.name}": one.snapshot_id
            for one in found.sources
            if one.snapshot_id is not None
        },
        rows_read={f"iceberg:{one.name}": one.rows for one in found.sources},
        rows_written=found.rows if is_of_records else None,
        output=to,
    )


def _tests(found: Certificate) -> Iterator[LineageTest]:
    if found.threshold_ms is not None:
        yield LineageTest(
            "bounded_disorder",
            found.bound_held,
            f"at most {found.threshold_ms:g} ms",
            f"{found.max_disorder_ms:g} ms",
            "No record was older than a record of an earlier step by more than the threshold.",
        )
    if found.offset_order_held is not None:
        yield LineageTest(
            "offset_order",
            found.offset_order_held,
            "in order",
            "in order" if found.offset_order_held else "out of order",
            "Each Kafka partition came in the order of its offsets.",
        )
    yield LineageTest(
        "none_dropped_as_late",
        not found.dropped_late,
        "0",
        str(found.dropped_late),
        "No record was dropped because it came after the watermark.",
    )
    if found.complete:
        for one in found.sources:
            yield LineageTest(
                f"rows_as_planned.{one.name}",
                one.as_planned,
                f"{one.rows_at_least} to {one.rows_at_most}",
                str(one.rows_read),
                "As many rows were read of the table as its metadata says there are.",
            )
