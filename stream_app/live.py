"""Running an application on its live sources."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from backfill.lookups.frames import LookupFrames
from headrace.application.held_state import CHECKPOINT, held_state, refuse_elsewhere
from headrace.application.late_rows import DroppedLate, LateRows
from headrace.application.live import LiveStart, live_stream
from headrace.application.live_source import rejected_folder
from headrace.application.rejected_counts import counted
from headrace.application.select import selected, smallest_threshold
from headrace.application.sinks import start
from headrace.application.transform import Sources, bound_ahead, result_of, with_watermarks
from headrace.config.app.file import HybridSource, IcebergSource, KafkaTopics
from headrace.errors import UsageError
from headrace.queries.checkpoint import keep
from headrace.queries.streaming import finish
from stream_app.facts import AppFacts
from stream_app.follow.decisions import FollowWatch
from stream_app.follow.streams import followed_streams, name_of
from stream_app.hybrid import hybrid_streams
from stream_app.rewind import cut
from stream_app.topics import store_topic_ids, topic_ids, topics_behind

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pyspark.sql import DataFrame, SparkSession

    from headrace.config.load import LoadedApp
    from headrace.config.workspace.workspace import Workspace
    from headrace.queries.checkpoint import Place
    from headrace.signals import Drain

Live: TypeAlias = KafkaTopics | HybridSource | IcebergSource


@dataclass(frozen=True, slots=True)
class LiveRun:
    """What a live run came to: the rows that the transform was given, and what it was not.

    `rejected` counts over all runs from the same state, by what became of a record;
    `dropped_late` counts in this run.
    """

    rows: int
    rejected: Mapping[str, int]
    dropped_late: DroppedLate


def live_sources(app: LoadedApp, choices: Mapping[str, str]) -> dict[str, Live]:
    """Return what each source reads live, or say why one cannot be read live."""
    live: dict[str, Live] = {}
    for name, source in selected(app.config, choices).items():
        if isinstance(source, IcebergSource) and source.follow is None:
            raise UsageError(
                f"{name} of {app.config.name} is set to the table {source.identifier}",
                "a table is read over a period: backfill replay -c … --start-ts … --end-ts …; or "
                f"select a live candidate: --select {name}=…; or add follow: {{}} to it, to read "
                "what it holds and then each new commit",
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
    show: Callable[[AppFacts], object] = lambda _facts: None,
    choices: Mapping[str, str] | None = None,
) -> LiveRun:
    """Run until everything there is now is processed, or until asked to drain."""
    folder = workspace.state_dir / "app" / app.config.name
    held_by = f"application {app.config.name}", "stop that one first"
    with held_state(workspace, spark, folder, held_by) as held:
        state, checkpoint = held.folder, held.checkpoint
        # What keeps files beside it has it here.
        here = state / CHECKPOINT
        cut.finish(state, workspace)
        reads = {name: name_of(app, one) for name, one in live.items()}
        refuse_other_sources(checkpoint, reads)
        store_topic_ids(checkpoint, topic_ids(workspace, topics_behind(app, reads.values())))
        fresh = not any((checkpoint / "offsets").glob("[0-9]*"))
        opening = LiveStart(spark, workspace, app, once, fresh, held.relay)
        _refuse_beside(checkpoint, app, live)
        marked = _frames(opening, live)
        followed = {name: one for name, one in live.items() if isinstance(one, IcebergSource)}
        tables = followed_streams(opening, here, followed)
        # Its rows come in the order of their arrival, but for the threshold.
        marked |= with_watermarks(
            app, tables, dict.fromkeys(tables, smallest_threshold(followed.values()))
        )
        marked |= LookupFrames(spark, app, workspace).live(here, state)
        result = result_of(app, Sources(spark, marked), workspace.root)
        # With an end of their own the sources say themselves when everything is processed.
        name, late = app.config.name, LateRows(None, is_of_tables)
        query = start(result, app.config.sink, workspace, name, checkpoint, late, held.still_ours)
        watch = FollowWatch(here) if followed else None
        facts = AppFacts(app.config, choices or {}, workspace, lambda: late.total)
        show(facts)
        rows = finish(query, name, drain, until_no_data=once, watch=watch, on_batch=facts.see)
        readers = (
            source.live if isinstance(source, HybridSource) else name_of(app, source)
            for source in live.values()
        )
        folders = (rejected_folder(workspace.state_dir, app, one) for one in readers)
        return LiveRun(rows, sum(map(counted, folders), Counter()), late.total)


def _refuse_beside(checkpoint: Place, app: LoadedApp, live: Mapping[str, Live]) -> None:
    for name, source in live.items():
        if not isinstance(source, KafkaTopics):
            refuse_elsewhere(checkpoint, f"{name} of {app.config.name}")
    for name in app.config.lookups:
        refuse_elsewhere(checkpoint, f"{name} of {app.config.name}")


def refuse_other_sources(checkpoint: Place, reads: Mapping[str, str]) -> None:
    """Refuse to go on from positions in one source with another; keep which ones they are."""
    kept = checkpoint.with_name(cut.SOURCES)
    if not checkpoint.exists() or not kept.exists():
        keep(kept, json.dumps(dict(reads)).encode())
        return
    begun = cut.sources_begun_with(checkpoint.parent)
    for name, candidate in reads.items():
        if begun.get(name, candidate) != candidate:
            raise UsageError(
                f"this application was started with {begun[name]} for {name}, and its checkpoint "
                f"has no position in {candidate}",
                f"--select {name}={begun[name]}; or start over with another name in the file, or "
                f"remove {checkpoint.parent}",
            )


def _frames(opening: LiveStart, live: Mapping[str, Live]) -> dict[str, DataFrame]:
    hybrids = {name: one for name, one in live.items() if isinstance(one, HybridSource)}
    app = opening.app
    frames = {
        name: live_stream(opening, name_of(app, source), bound_ahead(app, name))
        for name, source in live.items()
        if isinstance(source, KafkaTopics)
    }
    return with_watermarks(app, frames, {}) | hybrid_streams(opening, hybrids)


def is_of_tables(start: str, end: str) -> bool:
    """Whether a source read none but tables between two of its offsets.

    Their rows may be read again, to count what was dropped: that costs little, and comes out the
    same. A topic is read once: its invalid records would go to the quarantine twice.
    """
    begun, ended = json.loads(start), json.loads(end)
    if not isinstance(begun, dict) or not isinstance(ended, dict):
        return False
    if "past" in ended:
        # Of a hybrid source, the positions in the topics stand still while its history is read.
        return bool(begun["live"] == ended["live"])
    # Of a table that is followed.
    return "base_us" in ended
