"""Running an application on its live sources."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import structlog

from backfill.lookups.frames import lookups_live
from headrace import state_files
from headrace.application.late_rows import DroppedLate, LateRows
from headrace.application.live import live_stream
from headrace.application.live_source import turned_away_folder
from headrace.application.select import selected
from headrace.application.sinks import start
from headrace.application.transform import Sources, bound_ahead, result_of, with_watermarks
from headrace.application.turned_away import counted
from headrace.config.app import HybridSource, IcebergSource, KafkaTopics
from headrace.errors import UsageError
from headrace.locks import hold
from headrace.streaming import finish
from stream_app.followed import followed_streams, threshold_of
from stream_app.following import Following
from stream_app.hybrid import hybrid_streams
from stream_app.read_again import is_of_tables
from stream_app.rewind import cut
from stream_app.topics import keep_ids, topic_ids, topics_behind

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

    from headrace.config.load import LoadedApp
    from headrace.config.workspace import Workspace
    from headrace.signals import Drain

log = structlog.get_logger(__name__)
Live: TypeAlias = KafkaTopics | HybridSource | IcebergSource


@dataclass(frozen=True, slots=True)
class Ran:
    """What a live run came to: the rows that the transform was given, and what it was not.

    `turned_away` counts over all runs from the same state, by what became of a record;
    `dropped_late` counts in this run.
    """

    rows: int
    turned_away: Mapping[str, int]
    dropped_late: DroppedLate


def live_sources(app: LoadedApp, choices: Mapping[str, str]) -> dict[str, Live]:
    """Return what each source reads live, or say why one cannot be read live."""
    live: dict[str, Live] = {}
    for name, source in selected(app.config, choices).items():
        if isinstance(source, IcebergSource) and source.follow is None:
            raise UsageError(
                f"{name} of {app.config.name} is set to the table {source.identifier}",
                "a table is read over a period: backfill replay -c … --start-ts … --end-ts …;"
                f" or select a live candidate: --select {name}=…;"
                " or add follow: {} to it, to read what it holds and go on with each commit",
            )
        live[name] = source
    return live


def run_live(  # noqa: PLR0913 - a run is made of these
    app: LoadedApp,
    workspace: Workspace,
    spark: SparkSession,
    live: Mapping[str, Live],
    drain: Drain,
    *,
    once: bool,
) -> Ran:
    """Run until everything there is now is processed, or until asked to drain."""
    state = workspace.state_dir / "app" / app.config.name
    with hold(state / "lock", f"application {app.config.name}", "stop that one first"):
        cut.finish(state, workspace)
        checkpoint = state / "checkpoint"
        reads = {name: _name_of(app, one) for name, one in live.items()}
        refuse_other_sources(checkpoint, reads)
        keep_ids(checkpoint, topic_ids(workspace, topics_behind(app, reads.values())))
        fresh = not any((checkpoint / "offsets").glob("[0-9]*"))
        marked = _frames(app, workspace, spark, live, once=once, fresh=fresh)
        followed = {name: one for name, one in live.items() if isinstance(one, IcebergSource)}
        tables = followed_streams(
            spark, workspace, app, followed, checkpoint, once=once, fresh=fresh
        )
        # Its rows come in the order of their arrival, but for the threshold.
        marked |= with_watermarks(app, tables, dict.fromkeys(tables, threshold_of(followed)))
        marked |= lookups_live(spark, app, workspace, checkpoint, state)
        result = result_of(app, Sources(spark, marked), workspace.root)
        # With an end of their own the sources say themselves when everything is processed.
        name, late = app.config.name, LateRows(None, is_of_tables)
        query = start(result, app.config.sink, workspace, name, checkpoint, once=False, late=late)
        watch = Following(checkpoint) if followed else None
        rows = finish(query, name, drain, until_no_data=once, watch=watch)
        readers = (
            source.live if isinstance(source, HybridSource) else _name_of(app, source)
            for source in live.values()
        )
        folders = (turned_away_folder(workspace.state_dir, app, one) for one in readers)
        return Ran(rows, sum(map(counted, folders), Counter()), late.total)


def refuse_other_sources(checkpoint: Path, reads: Mapping[str, str]) -> None:
    """Refuse to go on from places in one source with another; keep which ones they are."""
    kept = checkpoint.with_name(cut.SOURCES)
    if not checkpoint.exists() or not kept.exists():
        state_files.write(kept, json.dumps(dict(reads)).encode())
        return
    begun = cut.sources_begun_with(checkpoint.parent)
    for name, candidate in reads.items():
        if begun.get(name, candidate) != candidate:
            raise UsageError(
                f"this application has begun with {begun[name]} for {name}, and its checkpoint"
                f" knows no place in {candidate}",
                f"--select {name}={begun[name]}; or begin anew: another name in the file, or"
                f" remove {checkpoint.parent}",
            )


def _frames(  # noqa: PLR0913 - as above
    app: LoadedApp,
    workspace: Workspace,
    spark: SparkSession,
    live: Mapping[str, Live],
    *,
    once: bool,
    fresh: bool,
) -> dict[str, DataFrame]:
    hybrids = {name: one for name, one in live.items() if isinstance(one, HybridSource)}
    frames = {
        name: live_stream(
            spark,
            workspace,
            app,
            _name_of(app, source),
            ahead=bound_ahead(app, name),
            once=once,
            fresh=fresh,
        )
        for name, source in live.items()
        if isinstance(source, KafkaTopics)
    }
    past = hybrid_streams(spark, workspace, app, hybrids, once=once, fresh=fresh)
    return with_watermarks(app, frames, {}) | past


def _name_of(app: LoadedApp, source: Live) -> str:
    """Return the name that the file gives to a source."""
    return next(name for name, one in app.config.sources.items() if one is source)
