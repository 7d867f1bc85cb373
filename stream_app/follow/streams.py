"""Tables that a live run follows: opened together, so that they go on aligned."""

from __future__ import annotations

import shutil
import time
from datetime import timedelta
from typing import TYPE_CHECKING, Final
from uuid import uuid4

import msgspec

from backfill.enumerator import STEP_LIMITS
from backfill.follow import holding
from backfill.follow.place import Hop, beginning
from backfill.follow.source import NAME, FollowSource
from backfill.follow.table import ALWAYS, Followed, FollowedTable
from backfill.follow.task import Asked
from backfill.source import LakeSource
from backfill.watermarks import require_arrivals
from headrace.application.live_source import turned_away_folder
from headrace.application.transform import bound_ahead
from headrace.contract import INGESTION_TS
from headrace.errors import UsageError
from headrace.times import parse_time_us

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

    from backfill.follow.place import Place
    from headrace.config.app import IcebergSource
    from headrace.config.follow import Follow
    from headrace.config.load import LoadedApp
    from headrace.config.workspace import Workspace
    from headrace.records.ahead import Ahead

MICROSECOND: Final = timedelta(microseconds=1)


def threshold_of(sources: Mapping[str, IcebergSource]) -> timedelta:
    """Return the threshold that suits all: the smallest that one of them asks for."""
    return min(
        (source.max_misalignment_threshold for source in sources.values()), default=timedelta(0)
    )


def followed_streams(  # noqa: PLR0913 - the sources of a run
    spark: SparkSession,
    workspace: Workspace,
    app: LoadedApp,
    sources: Mapping[str, IcebergSource],
    checkpoint: Path,
    *,
    once: bool,
    fresh: bool,
) -> dict[str, DataFrame]:
    """Return a stream for each of them, aligned by one frontier.

    `fresh` says that the query's checkpoint has no batch yet. With `once` the streams end with what
    the tables hold now.
    """
    if not sources:
        return {}
    tables = _tables(app, sources)
    follows = [follow for source in sources.values() if (follow := source.follow) is not None]
    # Before anything is held for a run that cannot begin.
    columns = {
        name: _columns(workspace, source, tables[source.identifier], bound_ahead(app, name))
        for name, source in sources.items()
    }
    holder = holding.holder_of(app.config.name, checkpoint)
    begin = _begin(workspace, tables, _start(app, follows), holder) if fresh else None
    runs = checkpoint.with_name("follow")
    shutil.rmtree(runs, ignore_errors=True)
    folder = runs / uuid4().hex
    folder.mkdir(parents=True)
    spark.dataSource.register(FollowSource)
    streams = {}
    for name, source in sources.items():
        ahead = bound_ahead(app, name)
        asked = Asked(
            workspace=str(workspace.root),
            table=source.identifier,
            columns=columns[name],
            tables=tuple(tables.values()),
            max_rows=min(follow.max_rows for follow in follows),
            max_bytes=STEP_LIMITS.max_bytes,
            interval_s=min(follow.discovery_interval for follow in follows).total_seconds(),
            holder=holder,
            folder=str(folder),
            turned_away=str(turned_away_folder(workspace.state_dir, app, _name_of(app, source))),
            readers=spark.sparkContext.defaultParallelism,
            once=once,
            begin=None if begin is None else begin.to_json(),
            ahead=None if ahead is None else ahead.to_json(),
        )
        options = {"asked": msgspec.json.encode(asked).decode()}
        streams[name] = spark.readStream.format(NAME).options(**options).load()
    return streams


def _tables(app: LoadedApp, sources: Mapping[str, IcebergSource]) -> dict[str, Followed]:
    found: dict[str, Followed] = {}
    for name, source in sources.items():
        follow = _follow(source)
        followed = Followed(
            source.identifier,
            follow.time_column or INGESTION_TS,
            threshold_of(sources) // MICROSECOND,
            follow.up_to,
            follow.on_overwrite,
            source.null_times,
        )
        if found.setdefault(source.identifier, followed) != followed:
            raise UsageError(
                f"{name} of {app.config.name} follows {source.identifier} in another way than"
                " another of its sources",
                "a table is followed once for all: let up_to, on_overwrite, time_column and null_times agree",
            )
    return found


def _start(app: LoadedApp, follows: list[Follow]) -> str:
    starts = sorted({follow.start for follow in follows})
    if len(starts) > 1:
        raise UsageError(
            f"the tables that {app.config.name} follows begin at {' and at '.join(starts)}",
            "they go on together: let follow.start agree",
        )
    return starts[0]


def _begin(workspace: Workspace, tables: Mapping[str, Followed], start: str, holder: str) -> Place:
    """Return where to begin, and hold the snapshots that the tables have now."""
    since_us = ALWAYS.start_us if start in {"earliest", "latest"} else parse_time_us(start)
    snapshots, null_times = {}, 0
    for name, followed in tables.items():
        table = FollowedTable(workspace, followed)
        snapshots[name] = snapshot = table.look().snapshot
        if snapshot is not None and start != "latest":
            null_times += table.null_times(Hop(None, snapshot), since_us)
        holding.move(table.table, holder, () if snapshot is None else (snapshot,))
    start_us = time.time_ns() // 1000 if start == "latest" else since_us
    return beginning(start_us, snapshots, since_us=since_us, null_times=null_times)


def _columns(
    workspace: Workspace, source: IcebergSource, followed: Followed, ahead: Ahead | None
) -> tuple[str, ...]:
    """Return the columns to read. They stay the same for as long as the query runs.

    What the table does not have is refused here: what a process of Spark's refuses is no sentence.
    """
    table = LakeSource(
        workspace,
        source.identifier,
        ALWAYS,
        (),
        columns=source.columns,
        time_column=followed.time_column,
        as_stored=False,
    )
    if ahead is not None:
        require_arrivals(source.identifier, table.table.schema(), ahead, followed.time_column)
    return source.columns or tuple(field.name for field in table.columns.fields)


def _follow(source: IcebergSource) -> Follow:
    if source.follow is None:
        raise UsageError(f"{source.identifier} is not followed", "add follow: {} to the source")
    return source.follow


def _name_of(app: LoadedApp, source: IcebergSource) -> str:
    return next(name for name, one in app.config.sources.items() if one is source)
