"""The watermarks of an application, as the tables that it is replayed from have their columns."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import timedelta
from typing import TYPE_CHECKING

import structlog

from backfill.plan.units import EventColumns
from backfill.plan.widening import PlannedWatermark, Watermark, columns_of
from backfill.read.file_columns import arrival_column
from backfill.read.row_filter import kind_of
from headrace.application.transform import bound_ahead
from headrace.contract import INGESTION_TS
from headrace.errors import UsageError
from headrace.iceberg.catalog import load_table
from headrace.times import MICROSECOND

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pyiceberg.schema import Schema

    from backfill.plan.plan import Plan
    from headrace.application.ahead_of_time import Ahead
    from headrace.config.load import LoadedApp
    from headrace.config.workspace.workspace import Workspace

log = structlog.get_logger(__name__)
TIMES = ("timestamp", "timestamp_ntz")
GIVE_IT = "or set it yourself: --widen-watermarks DURATION"


@dataclass(frozen=True, slots=True)
class ResolvedWatermarks:
    """Watermarks whose columns the tables have, and those of which nothing can be known."""

    known: tuple[Watermark, ...] = ()
    unknown: tuple[PlannedWatermark, ...] = ()

    def events(self, table: str) -> EventColumns:
        """Return what a plan has to know of a table's events."""
        bounds = [one.ahead for one in self.known if one.table == table and one.ahead is not None]
        return EventColumns(columns_of(self.known).get(table, ()), bounds[0] if bounds else None)


def watermarks_of(app: LoadedApp, tables: Mapping[str, str]) -> tuple[Watermark, ...]:
    """Return the watermark of each source that is replayed from a table."""
    return tuple(
        Watermark(
            name,
            tables[name],
            watermark.column,
            watermark.delay // MICROSECOND,
            bound_ahead(app, name),
        )
        for name, watermark in app.config.watermarks.items()
        if name in tables
    )


def resolve_watermarks(
    workspace: Workspace, asked: Sequence[Watermark], time_column: str
) -> ResolvedWatermarks:
    """Look up the watermarks' columns in their tables."""
    schemas = {
        table: load_table(workspace, table).schema() for table in {one.table for one in asked}
    }
    known, unknown = [], []
    for one in asked:
        bound = next((o.ahead for o in asked if o.table == one.table and o.ahead is not None), None)
        found = _resolve(one, schemas[one.table], bound, time_column)
        if isinstance(found, Watermark):
            known.append(found)
        else:
            name = one.source, one.table, one.column, one.delay_us
            unknown.append(PlannedWatermark(*name, None, found))
    return ResolvedWatermarks(tuple(known), tuple(unknown))


def require_arrivals(table: str, schema: Schema, ahead: Ahead, time_column: str) -> None:
    """Refuse a bound on how far a column is ahead of itself: nothing ever is."""
    if arrival_column(schema, time_column).casefold() == ahead.column.casefold():
        raise UsageError(
            f"max_ahead limits how far {ahead.column} is ahead of a record's arrival, but {table} "
            f"has no {INGESTION_TS} and is read in the order of {ahead.column} itself",
            "name the column with the time of arrival (--time-column, in a live run "
            "follow.time_column), or remove max_ahead",
        )


def require_known(plan: Plan) -> None:
    """Refuse a replay that may drop records which were in time, or that would never drop its state."""
    for one in plan.watermarks:
        if one.widened_by_us is None:
            raise UsageError(
                "the plan cannot compute how much longer the delay of the watermark of "
                f"{one.source} must be: {one.unknown}",
                f"--scan-without-bounds reads times that have no bounds; {GIVE_IT}",
            )
        if one.is_from_the_future and one.cause is not None:
            raise UsageError(
                f"the delay of {one.source}'s watermark would have to be "
                f"{timedelta(microseconds=one.widened_by_us)} longer, because file "
                f"{one.cause.file} has a record whose {one.column} is "
                f"{timedelta(microseconds=one.cause.ahead_us)} ahead of its arrival: no state "
                "would be dropped until then",
                f"limit it in the application's file: watermarks: {{{one.source}: {{max_ahead: "
                f"…}}}}; {GIVE_IT}",
            )


def log_widening(plan: Plan) -> None:
    """Log by how much watermarks are wider than live: results come so much later."""
    for one in plan.watermarks:
        if one.widened_by_us:
            by = timedelta(microseconds=one.widened_by_us)
            file = {} if one.cause is None else {"for": one.cause.file}
            say = log.warning if one.is_from_the_future else log.info
            say("a watermark is wider than live", source=one.source, by=str(by), **file)


def _resolve(
    watermark: Watermark, schema: Schema, bound: Ahead | None, time_column: str
) -> Watermark | str:
    """Return a watermark as its table has the column, or why nothing can be known of it.

    The bound is on how far a column of the table, this one or another, may be ahead.
    """
    table, column = watermark.table, _time_named(schema, watermark.column)
    if column is None:
        return f"{table} has no column of times {watermark.column}"
    if bound is None:
        return replace(watermark, column=column, ahead=None)
    require_arrivals(table, schema, bound, time_column)
    is_its_own = bound.column.casefold() == column.casefold()
    by_arrival = arrival_column(schema, time_column).casefold() == time_column.casefold()
    if is_its_own and not by_arrival and bound.action == "clamp":
        return f"{column} is clamped to the time of arrival, but {time_column} is not that time"
    return replace(
        watermark,
        column=column,
        ahead=replace(bound, column=column) if is_its_own and by_arrival else None,
        is_thinned=is_its_own or bound.action != "clamp",
    )


def _time_named(schema: Schema, column: str) -> str | None:
    for field in schema.fields:
        is_time = kind_of(field.field_type) in TIMES
        if is_time and field.name.casefold() == column.casefold():
            return field.name
    return None
