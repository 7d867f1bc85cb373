"""From the words of a command line to what is to be read."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict

from backfill.plan.period import Period, parse_period
from backfill.run.pace import parse_rate
from backfill.run.request import ReplayRequest
from headrace.application.select import (
    of_the_past,
    parse_choices,
    smallest_threshold,
    with_choices,
)
from headrace.application.transform import bound_ahead
from headrace.config.common.units import UnitError, parse_duration
from headrace.config.load import load_app
from headrace.contract import INGESTION_TS
from headrace.errors import UsageError
from headrace.times import MICROSECOND

if TYPE_CHECKING:
    from collections.abc import Iterable

    from backfill.plan.plan import Order
    from backfill.plan.preconditions import NullTimes, UpTo
    from headrace.application.ahead_of_time import Ahead
    from headrace.config.load import LoadedApp
    from headrace.config.workspace.workspace import Workspace

TABLES_THRESHOLD = timedelta(minutes=15)


class RequestOptions(TypedDict, total=False):
    """The options that a plan and a replay have in common."""

    app_path: Path | None
    select: tuple[str, ...]
    tables: tuple[str, ...]
    start: str | None
    end: str | None
    regions: str
    threshold: str | None
    order: Order | None
    rate_limit: str | None
    time_column: str
    scan: bool
    null_times: NullTimes | None
    up_to: UpTo
    warmup: str | None
    cooldown: str | None
    widening: str | None


def parse_request(
    options: RequestOptions, workspace: Workspace
) -> tuple[LoadedApp | None, ReplayRequest]:
    """Return the application, if one was named, and what is to be read."""
    path, tables = options.get("app_path"), options.get("tables", ())
    start, end = options.get("start"), options.get("end")
    if (path is None) == (not tables):
        raise UsageError("a replay needs an application or tables", "-c APP.yaml, or --table …")
    if start is None or end is None:
        raise UsageError("a replay needs a period", "--start-ts TIME --end-ts TIME")
    choices = parse_choices(options.get("select", ()))
    if choices and path is None:
        raise UsageError("--select is for an application", "-c APP.yaml")
    app = None if path is None else with_choices(load_app(path, workspace), choices)
    threshold = TABLES_THRESHOLD
    if app is not None:
        tables = tuple(tables_of(app).values())
        threshold = smallest_threshold(of_the_past(app.config).values())
    if (text := options.get("threshold")) is not None:
        threshold = parse_duration_option("--max-misalignment", text)
    emitted = parse_period(start, end)
    regions = (region.strip() for region in options.get("regions", "").split(","))
    return app, ReplayRequest(
        tables=tables,
        period=_with_warmup(options, app, emitted),
        regions=tuple(region for region in regions if region),
        order=options.get("order") or "bounded",
        threshold_us=threshold // MICROSECOND,
        rate=parse_rate(options.get("rate_limit")),
        time_column=options.get("time_column", INGESTION_TS),
        scan=options.get("scan", False),
        emitted=None if app is None or app.config.sink.time_column is None else emitted,
        choices=choices,
        lookups={} if app is None else app.config.lookups,
        widen_by_us=_widening(options.get("widening"), app),
        null_times=_null_times(tables, app, options.get("null_times")),
        up_to=options.get("up_to", "complete"),
    )


def _widening(text: str | None, app: LoadedApp | None) -> int | None:
    if text is None:
        return None
    if app is None:
        raise UsageError("--widen-watermarks is for an application", "-c APP.yaml")
    return parse_duration_option("--widen-watermarks", text) // MICROSECOND


def _null_times(
    tables: Iterable[str], app: LoadedApp | None, said: NullTimes | None
) -> dict[str, NullTimes]:
    """Return what becomes of rows without a time, by table: as the command says, else the file."""
    if said is not None or app is None:
        return dict.fromkeys(tables, said or "fail")
    found: dict[str, NullTimes] = {}
    for source in of_the_past(app.config).values():
        # A table is read once for all its sources.
        is_fail = "fail" in {source.null_times, found.get(source.identifier)}
        found[source.identifier] = "fail" if is_fail else "skip"
    return found


def _with_warmup(options: RequestOptions, app: LoadedApp | None, period: Period) -> Period:
    """Return the period with what is read before and after it, and not emitted."""
    before, after = (
        0 if text is None else parse_duration_option(name, text) // MICROSECOND
        for name, text in (
            ("--warmup", options.get("warmup")),
            ("--cooldown", options.get("cooldown")),
        )
    )
    if (before or after) and (app is None or app.config.sink.time_column is None):
        raise UsageError(
            "rows of a warm-up or cool-down are not emitted, so each row needs a time",
            "name the time column of the result in the application's file: sink.time_column"
            if app is not None
            else "the option is for an application: -c APP.yaml",
        )
    return Period(period.start_us - before, period.end_us_exclusive + after)


def tables_of(app: LoadedApp) -> dict[str, str]:
    """Return the table that each source of the transform is replayed from."""
    return {name: source.identifier for name, source in of_the_past(app.config).items()}


def bounds_of(app: LoadedApp) -> dict[str, Ahead]:
    """Return how far the records of each table may be ahead of their arrival, where that is said."""
    found: dict[str, Ahead | None] = {}
    for name, table in tables_of(app).items():
        bound = bound_ahead(app, name)
        if found.setdefault(table, bound) != bound:
            raise UsageError(
                f"two sources of {app.config.name} read {table} with different max_ahead",
                "a replay reads the table once for both: give them the same max_ahead and on_ahead",
            )
    return {table: bound for table, bound in found.items() if bound is not None}


def require_watermarks(app: LoadedApp | None) -> None:
    """Refuse to close windows where nothing in the file says by which column they close."""
    if app is None or not app.config.watermarks.keys() & tables_of(app).keys():
        raise UsageError(
            "--open-windows close needs watermarks in the application's file",
            "remove the option; or name the column that closes the windows: watermarks: {SOURCE: "
            "{…}}",
        )


def parse_duration_option(option: str, text: str) -> timedelta:
    """Read the duration that an option was given."""
    try:
        return parse_duration(text)
    except UnitError as problem:
        raise UsageError(f"{option} {text}: {problem.reason}", problem.advice) from None


def parse_percent(text: str) -> float:
    """Read a percentage, `99.9` or `99.9%`."""
    try:
        percent = float(text.strip().removesuffix("%"))
    except ValueError:
        percent = -1.0
    if not 0 <= percent <= 100:
        raise UsageError(
            f"--min-match {text} is not a percentage",
            "give a number from 0 to 100, for example 99.9",
        )
    return percent


def parse_compared_period(
    time_column: str | None, start: str | None, end: str | None, boundary: str
) -> tuple[Period | None, int]:
    """Read the period to compare, and how near to its ends a mismatch is one of them."""
    if start is None and end is None:
        return None, 0
    if time_column is None:
        raise UsageError(
            "a period needs the time column of the tables",
            "--time COLUMN: the column with the time of a row",
        )
    if start is None or end is None:
        raise UsageError("a period needs a start and an end", "--start-ts TIME --end-ts TIME")
    near = parse_duration_option("--boundary", boundary)
    return parse_period(start, end), near // MICROSECOND


def parse_target(text: str) -> Path | tuple[str, str]:
    """Read `jsonl:DIR` or `kafka:CLUSTER/TOPIC`."""
    kind, _, place = text.partition(":")
    cluster, _, topic = place.partition("/")
    if kind == "kafka" and cluster and topic:
        return cluster, topic
    if kind != "jsonl" or not place:
        raise UsageError(
            f"--to {text} is not a valid target", "write it as jsonl:DIR or kafka:CLUSTER/TOPIC"
        )
    return Path(place)
