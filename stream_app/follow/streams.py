"""Tables that a live run follows: opened together, so that they go on aligned."""

from __future__ import annotations

import shutil
import time
from typing import TYPE_CHECKING
from uuid import uuid4

import msgspec

from backfill.plan.steps import STEP_LIMITS
from backfill.run.watermarks import require_arrivals
from headrace.application.live_source import rejected_folder
from headrace.application.select import smallest_threshold
from headrace.application.transform import bound_ahead
from headrace.contract import INGESTION_TS
from headrace.errors import UsageError
from headrace.times import MICROSECOND, parse_time_us
from stream_app.follow import tags
from stream_app.follow.position import Hop, beginning
from stream_app.follow.source import NAME, FollowSource
from stream_app.follow.table import ALWAYS, FollowedTable, FollowedTableSettings, seen_table
from stream_app.follow.task import FollowOptions

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from pyspark.sql import DataFrame

    from headrace.application.ahead_of_time import Ahead
    from headrace.application.live import LiveStart
    from headrace.config.app.file import Follow, HybridSource, IcebergSource, KafkaTopics
    from headrace.config.load import LoadedApp
    from headrace.config.workspace.workspace import Workspace
    from stream_app.follow.position import FollowPosition


def followed_streams(
    opening: LiveStart, checkpoint: Path, sources: Mapping[str, IcebergSource]
) -> dict[str, DataFrame]:
    """Return a stream for each of them, aligned by one frontier."""
    if not sources:
        return {}
    spark, workspace, app = opening.spark, opening.workspace, opening.app
    tables = _tables(app, sources)
    follows = list(_follows(sources).values())
    # Before anything is held for a run that cannot begin.
    columns = {
        name: _columns(workspace, source, tables[source.identifier], bound_ahead(app, name))
        for name, source in sources.items()
    }
    holder = tags.holder_of(app.config.name, checkpoint)
    begin = _begin(workspace, tables, _start(app, follows), holder) if opening.fresh else None
    runs = checkpoint.with_name("follow")
    shutil.rmtree(runs, ignore_errors=True)
    folder = runs / uuid4().hex
    folder.mkdir(parents=True)
    spark.dataSource.register(FollowSource)
    streams = {}
    for name, source in sources.items():
        options = FollowOptions(
            workspace=str(workspace.root),
            table=source.identifier,
            columns=columns[name],
            tables=tuple(tables.values()),
            max_rows=min(follow.max_rows for follow in follows),
            max_bytes=STEP_LIMITS.max_bytes,
            interval_s=min(follow.discovery_interval for follow in follows).total_seconds(),
            holder=holder,
            folder=str(folder),
            rejected=str(rejected_folder(workspace.state_dir, app, name_of(app, source))),
            readers=spark.sparkContext.defaultParallelism,
            once=opening.once,
            begin=begin,
            ahead=bound_ahead(app, name),
        )
        reader = spark.readStream.format(NAME)
        streams[name] = reader.option("settings", msgspec.json.encode(options).decode()).load()
    return streams


def _tables(
    app: LoadedApp, sources: Mapping[str, IcebergSource]
) -> dict[str, FollowedTableSettings]:
    found: dict[str, FollowedTableSettings] = {}
    for name, follow in _follows(sources).items():
        source = sources[name]
        followed = FollowedTableSettings(
            source.identifier,
            follow.time_column or INGESTION_TS,
            smallest_threshold(sources.values()) // MICROSECOND,
            follow.up_to,
            follow.on_overwrite,
            source.null_times,
        )
        if found.setdefault(source.identifier, followed) != followed:
            raise UsageError(
                f"{name} of {app.config.name} follows {source.identifier} with other settings "
                "than another source does",
                "a table is followed once for all sources: set up_to, on_overwrite, time_column "
                "and null_times to the same values",
            )
    return found


def _start(app: LoadedApp, follows: list[Follow]) -> str:
    starts = sorted({follow.start for follow in follows})
    if len(starts) > 1:
        raise UsageError(
            f"the tables that {app.config.name} follows start at {' and at '.join(starts)}",
            "they are read together: set follow.start to the same value",
        )
    return starts[0]


def _begin(
    workspace: Workspace, tables: Mapping[str, FollowedTableSettings], start: str, holder: str
) -> FollowPosition:
    """Return where to begin, and hold the snapshots that the tables have now."""
    since_us = ALWAYS.start_us if start in {"earliest", "latest"} else parse_time_us(start)
    snapshots, null_times = {}, 0
    for name, followed in tables.items():
        table = FollowedTable(workspace, followed)
        snapshots[name] = snapshot = table.look().snapshot
        if snapshot is not None and start != "latest":
            null_times += table.null_times(Hop(None, snapshot), since_us)
        tags.move(table.table, holder, () if snapshot is None else (snapshot,))
    start_us = time.time_ns() // 1000 if start == "latest" else since_us
    return beginning(start_us, snapshots, since_us=since_us, null_times=null_times)


def _columns(
    workspace: Workspace,
    source: IcebergSource,
    followed: FollowedTableSettings,
    ahead: Ahead | None,
) -> tuple[str, ...]:
    """Return the columns to read. They stay the same for as long as the query runs.

    What the table does not have is refused here: what a process of Spark's refuses is no sentence.
    """
    table = seen_table(workspace, followed, source.columns)
    if ahead is not None:
        require_arrivals(source.identifier, table.table.schema(), ahead, followed.time_column)
    return source.columns or tuple(field.name for field in table.columns.fields)


def _follows(sources: Mapping[str, IcebergSource]) -> dict[str, Follow]:
    return {name: one.follow for name, one in sources.items() if one.follow is not None}


def name_of(app: LoadedApp, source: KafkaTopics | HybridSource | IcebergSource) -> str:
    """Return the name that the file gives to a source."""
    return next(name for name, one in app.config.sources.items() if one is source)
