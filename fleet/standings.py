"""How each stream, lake table and application stands: by ledgers, groups, tables and locks."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from fleet.lines import LineFacts, StatusLine
from headrace.application.select import selected
from headrace.application.source_rows import source_rows, with_lags
from headrace.config.app.file import HybridSource, IcebergSource, KafkaTopics
from headrace.contract import QUARANTINE
from headrace.errors import TableMissing
from headrace.iceberg.catalog import load_table
from headrace.kafka.groups import GroupOffsets
from headrace.kafka.lag import Lag, lag_of
from headrace.landing.commit_state import CommitState, state_property
from headrace.landing.completeness import Completeness, completeness_property
from headrace.landing.totals import totals_of
from headrace.locks import holder
from headrace.times import format_time_us
from router.audit.standing import standings

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from pyiceberg.table import Table

    from fleet.lines import State
    from headrace.config.app.file import App
    from headrace.config.lake_table.file import LakeTable
    from headrace.config.stream.effective import Effective
    from headrace.config.stream.file import Stream
    from headrace.config.workspace.workspace import Workspace
    from headrace.errors import HeadraceError
    from headrace.kafka.cluster import KafkaCluster

# A writer on another host says at least so often that it is at work.
HEARD_WITHIN_S: Final = 60.0


def parts_of(config: Stream) -> list[str]:
    """Return the outputs of a stream, and its quarantine where bad records are kept."""
    names = [output.name for output in config.outputs]
    return [*names, QUARANTINE] if config.quarantine is not None else names


def stream_lines(
    workspace: Workspace,
    stream: Effective,
    clusters: dict[str, KafkaCluster],
    away: Mapping[str, HeadraceError],
) -> list[StatusLine]:
    """Return a line for each output, and one for the quarantine; its source's cluster is there."""
    config, found = stream.config, []
    kafka, topic = clusters[config.source.cluster], config.source.topic
    for one in standings(workspace, stream, clusters, away):
        line = StatusLine("stream", config.name, one.name, last_batch=one.last_batch)
        if one.problem:
            found.append(line.failed(one.problem))
            continue
        line = replace(line, facts=LineFacts(one.counts, one.lost, places=one.places))
        if one.positions is not None:
            # After the ledger: what is written meanwhile makes the lag larger, never negative.
            lag = lag_of(kafka, topic, one.positions)
            line = replace(line, state="stopped", facts=replace(line.facts, ends=lag.ends))
            line = line.behind(lag)
        found.append(line if one.runner is None else replace(line, state="running"))
    return found


def table_line(
    workspace: Workspace, config: LakeTable, clusters: dict[str, KafkaCluster]
) -> StatusLine:
    """Return how far a lake table is, as its own commits tell."""
    lock = workspace.state_dir / "lake_writer" / config.name / "lock"
    is_here = holder(lock) is not None
    line = table_declared(config)
    line = replace(line, state="running" if is_here else "new")
    try:
        table = load_table(workspace, config.table.identifier)
    except TableMissing:
        return line
    said = table.properties.get(state_property(config.name))
    if said is None:
        return line
    commit = CommitState.from_json(said)
    lag = lag_of(clusters[config.source.cluster], config.source.topic, commit.next_offsets)
    totals = totals_of(table, config.name)
    # The table's own word goes before ours: it is what replays and applications go by.
    complete = Completeness.from_json(table.properties.get(completeness_property(config.name)))
    time = None if complete.time_us is None else format_time_us(complete.time_us)
    last_us = totals.last_commit_us
    return replace(
        line.behind(lag),
        state="running" if is_here else _state_elsewhere(table, commit),
        last_batch=None if last_us is None else format_time_us(last_us),
        complete_up_to=time,
        facts=replace(line.facts, rows=totals.rows, files=totals.files),
    )


def _state_elsewhere(table: Table, commit: CommitState) -> State:
    """Return the state of a writer that does not run here; another host's is known by its commits."""
    silent_s = datetime.now(UTC).timestamp() - table.metadata.last_updated_ms / 1000
    is_ours = commit.identity.is_of_this_host
    return "running" if not is_ours and silent_s < HEARD_WITHIN_S else "stopped"


def table_declared(config: LakeTable) -> StatusLine:
    """Return the line of a lake table of which nothing is known yet."""
    return StatusLine("lake_table", config.name, facts=LineFacts(table=config.table.identifier))


def app_declared(config: App) -> StatusLine:
    """Return the line of an application of which nothing is known yet."""
    return StatusLine("app", config.name, facts=LineFacts(sources=source_rows(config, {})))


def app_line(workspace: Workspace, config: App, clusters: dict[str, KafkaCluster]) -> StatusLine:
    """Return how far an application is in its topics, as its consumer groups tell."""
    folder = workspace.state_dir / "app" / config.name
    last_batch = _last_batch(folder / "checkpoint" / "commits")
    # A checkpoint elsewhere is not looked at: its consumer groups tell how far it is.
    is_here = workspace.checkpoint_dir is None
    state: State = "new" if last_batch is None and is_here else "stopped"
    if holder(folder / "lock") is not None:
        state = "running"
    line = replace(app_declared(config), state=state, last_batch=last_batch)
    if state == "new":
        return line
    lags = {
        name: Lag.of_all(_group_lags(workspace, f"headrace.{config.name}.{name}", topics, clusters))
        for name, topics in topics_of(config).items()
    }
    if not lags:
        return line
    records = {name: lag.records for name, lag in lags.items()}
    sources = with_lags(config, source_rows(config, {}), records)
    return replace(line.behind(Lag.of_all(lags.values())), facts=LineFacts(sources=sources))


def topics_of(config: App) -> dict[str, KafkaTopics]:
    """Return the live topics that an application's file selects, by the names of their sources."""
    found = {}
    for name, source in selected(config, {}).items():
        if isinstance(source, IcebergSource):
            continue
        live = source.live if isinstance(source, HybridSource) else None
        one = source if live is None else config.sources[live]
        if isinstance(one, KafkaTopics):
            names = [key for key, value in config.sources.items() if value is one]
            found[names[0] if names else name] = one
    return found


def _group_lags(
    workspace: Workspace, group: str, source: KafkaTopics, clusters: dict[str, KafkaCluster]
) -> list[Lag]:
    kafka = clusters[source.cluster]
    offsets = GroupOffsets(workspace.cluster(source.cluster), group)
    try:
        return [
            lag_of(kafka, topic, offsets.committed(topic, kafka.offsets(topic)))
            for topic in source.topics
        ]
    finally:
        offsets.close()


def _last_batch(commits: Path) -> str | None:
    times_ns = [one.stat().st_mtime_ns for one in commits.glob("[0-9]*")]
    return format_time_us(max(times_ns) // 1_000) if times_ns else None
