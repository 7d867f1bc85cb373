"""From the words of a command line to what is to be read."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, NotRequired, TypedDict

from backfill.pace import parse_rate
from backfill.period import Period, parse_period
from backfill.request import Request
from headrace.application.select import of_the_past
from headrace.application.transform import bound_ahead
from headrace.config.load import load_app
from headrace.config.units import UnitError, parse_duration
from headrace.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from backfill.plan import Order
    from backfill.preconditions import NullTimes, UpTo
    from headrace.config.load import LoadedApp
    from headrace.config.workspace import Workspace
    from headrace.records.ahead import Ahead

MICROSECOND = timedelta(microseconds=1)
TABLES_THRESHOLD = timedelta(minutes=15)


class Asked(TypedDict):
    """What a plan and a replay are both asked for."""

    app_path: Path | None
    tables: tuple[str, ...]
    start: str | None
    end: str | None
    regions: str
    threshold: str | None
    order: Order | None
    rate_limit: str | None
    time_column: str
    scan: NotRequired[bool]
    null_times: NotRequired[NullTimes | None]
    up_to: NotRequired[UpTo]
    warmup: str | None
    cooldown: str | None
    widening: NotRequired[str | None]


def understood(asked: Asked, workspace: Workspace) -> tuple[LoadedApp | None, Request]:
    """Return the application, if one was named, and what is to be read."""
    path, tables = asked["app_path"], asked["tables"]
    if (path is None) == (not tables):
        raise UsageError("a replay is of an application or of tables", "-c APP.yaml, or --table …")
    if asked["start"] is None or asked["end"] is None:
        raise UsageError("a replay is of a period", "--start-ts TIME --end-ts TIME")
    app = None if path is None else load_app(path, workspace)
    threshold = TABLES_THRESHOLD
    if app is not None:
        tables, threshold = tuple(tables_of(app).values()), smallest_threshold(app)
    if asked["threshold"] is not None:
        threshold = duration_of("--max-misalignment", asked["threshold"])
    emitted = parse_period(asked["start"], asked["end"])
    period = _widened(asked, app, emitted)
    regions = (region.strip() for region in asked["regions"].split(","))
    rate = parse_rate(asked["rate_limit"])
    return app, Request(
        tables=tables,
        period=period,
        regions=tuple(region for region in regions if region),
        order=asked["order"] or "bounded",
        threshold_us=threshold // MICROSECOND,
        rate=rate,
        time_column=asked["time_column"],
        scan=asked.get("scan", False),
        emitted=None if app is None or app.config.sink.time_column is None else emitted,
        lookups={} if app is None else app.config.lookups,
        widen_by_us=_widening(asked.get("widening"), app),
        null_times=_null_times(tables, app, asked.get("null_times")),
        up_to=asked.get("up_to", "complete"),
    )


def _widening(asked: str | None, app: LoadedApp | None) -> int | None:
    if asked is not None and app is None:
        raise UsageError("--widen-watermarks is for an application", "-c APP.yaml")
    return None if asked is None else duration_of("--widen-watermarks", asked) // MICROSECOND


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


def _widened(asked: Asked, app: LoadedApp | None, period: Period) -> Period:
    """Return the period with what is read before and after it, and not emitted."""
    before, after = (
        0 if (text := asked[name]) is None else duration_of(f"--{name}", text) // MICROSECOND
        for name in ("warmup", "cooldown")
    )
    if (before or after) and (app is None or app.config.sink.time_column is None):
        raise UsageError(
            "a warm-up or cool-down is read and not emitted, and nothing says when a row belongs",
            "name the result's column in the application's file: sink.time_column"
            if app is not None
            else "it is for an application: -c APP.yaml",
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
                f"two sources of {app.config.name} read {table}, each with a max_ahead of its own",
                "a replay reads the table once for both: give them the same max_ahead and on_ahead",
            )
    return {table: bound for table, bound in found.items() if bound is not None}


def require_watermarks(app: LoadedApp | None) -> None:
    """Refuse to close windows where nothing in the file says by which column they close."""
    if app is None or not app.config.watermarks.keys() & tables_of(app).keys():
        raise UsageError(
            "--open-windows close is for an application with watermarks in its file",
            "leave it out; or say by which column its windows close: watermarks: {SOURCE: {…}}",
        )


def smallest_threshold(app: LoadedApp) -> timedelta:
    """Return the threshold that suits every source: the smallest that one of them asks for."""
    sources = of_the_past(app.config).values()
    return min(source.max_misalignment_threshold for source in sources)


def duration_of(option: str, text: str) -> timedelta:
    """Read the duration that an option was given."""
    try:
        return parse_duration(text)
    except UnitError as problem:
        raise UsageError(f"{option} {text}: {problem.reason}", problem.advice) from None


def target_of(text: str) -> Path | tuple[str, str]:
    """Read `jsonl:DIR` or `kafka:CLUSTER/TOPIC`."""
    kind, _, place = text.partition(":")
    cluster, _, topic = place.partition("/")
    if kind == "kafka" and cluster and topic:
        return cluster, topic
    if kind != "jsonl" or not place:
        raise UsageError(
            f"--to {text} is no target", "write it as jsonl:DIR or kafka:CLUSTER/TOPIC"
        )
    return Path(place)
