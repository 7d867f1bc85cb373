"""What has to hold before a replay begins: every row has its time, and none is still to come."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeAlias

import structlog

from headrace.errors import Terminal
from headrace.times import parse_time_us

if TYPE_CHECKING:
    from collections.abc import Sequence

    from backfill.plan.period import Period
    from backfill.plan.plan import FileWithoutTimes, Plan, PlannedSource
    from backfill.run.request import ReplayRequest

NullTimes: TypeAlias = Literal["fail", "skip"]
UpTo: TypeAlias = Literal["complete", "committed"]
log = structlog.get_logger(__name__)


class RowsWithoutTime(Terminal):
    """Rows that are of no period, so that a replay would leave them out."""

    def __init__(
        self, table: str, time_column: str, files: Sequence[FileWithoutTimes], rows: int
    ) -> None:
        most = max(files, key=lambda file: file.rows)
        super().__init__(
            f"{rows:,} rows of {table} have no time ({time_column} is null), so they belong to no "
            f"period; {most.rows:,} of them are in data file {most.path}",
            "give them a time; or skip and count them: --null-times skip, or null_times: skip at "
            "the source in the application's file",
        )


class NotComplete(Terminal):
    """A period of the past that goes on beyond what the table says is complete."""

    def __init__(self, source: PlannedSource, period: Period) -> None:
        upto = source.complete_up_to
        earlier = "" if upto is None else f"; or end at --end-ts {upto}"
        super().__init__(
            f"{source.name} is complete up to {upto or 'no time yet'}, but the period {period} "
            "ends later: some of its records may not have landed yet",
            f"run its lake writer until it has caught up (lake-writer start){earlier}; or replay "
            "the rows that have landed: --up-to committed",
        )


def require_whole(plan: Plan, request: ReplayRequest, now_us: int) -> None:
    """Refuse rows without a time, and a period of the past that may not have landed as a whole."""
    period = request.emitted or request.period
    # A period that ends in the future asks for all there is: more than that nobody can have.
    is_past = period.end_us_exclusive <= now_us
    for source in plan.sources:
        if source.null_times:
            if request.null_times.get(source.name, "fail") == "fail":
                raise RowsWithoutTime(
                    source.name, plan.time_column, source.null_times_in, source.null_times
                )
            log.warning(
                "rows without a time are skipped", table=source.name, rows=source.null_times
            )
        if request.up_to == "complete" and is_past and source.beyond_complete is not None:
            upto = source.complete_up_to
            if upto is None or period.end_us_exclusive > parse_time_us(upto):
                raise NotComplete(source, period)
