"""Hybrid sources: opened together, so that their histories stay aligned, each up to its topics.

A table hands over to its topics by its commit state, which has the next offsets.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from backfill.run import tags
from backfill.run.planning import plan_to_run, sources_of
from backfill.run.request import ReplayRequest, state_of
from backfill.run.watermarks import log_widening, watermarks_of
from headrace import state_files
from headrace.application.live import LiveStart, live_options
from headrace.application.select import smallest_threshold
from headrace.application.transform import bound_ahead, with_watermarks
from headrace.config.app.check_sources import differences
from headrace.config.app.file import HybridSource, IcebergSource, KafkaTopics
from headrace.contract import own_columns
from headrace.errors import Terminal, Transient, UsageError
from headrace.iceberg.catalog import load_table
from headrace.kafka.cluster import KafkaCluster
from headrace.kafka.leaders import NO_EPOCH, Reached
from headrace.kafka.positions import to_json
from headrace.landing.commit_state import state_property
from headrace.landing.commits import state_in
from headrace.schema.avro import stored_avro
from headrace.schema.iceberg import from_iceberg
from headrace.times import MICROSECOND
from stream_app import hybrid_source
from stream_app.follow.table import ALWAYS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from pyiceberg.table import Table
    from pyspark.sql import DataFrame

    from backfill.plan.plan import Order, Plan
    from backfill.plan.widening import Watermark
    from headrace.config.load import LoadedApp
    from headrace.config.workspace.workspace import Workspace
    from headrace.kafka.positions import Epochs, Positions
    from headrace.landing.commit_state import CommitState

ATTEMPTS = 5
# Positions in topics, as `positions.to_json` writes them.
Offset: TypeAlias = dict[str, dict[str, int | list[int]]]


@dataclass(frozen=True, slots=True)
class Pair:
    """A table and the topics that it is landed from."""

    past: IcebergSource
    live: KafkaTopics
    order: Order = "bounded"


def hybrid_streams(opening: LiveStart, hybrids: Mapping[str, HybridSource]) -> dict[str, DataFrame]:
    """Return a stream for each of them: the tables' history in aligned steps, then the topics.

    Their watermarks are set. Nothing begins where a record is neither in the table nor in the topic
    any more.
    """
    if not hybrids:
        return {}
    spark, workspace, app = opening.spark, opening.workspace, opening.app
    pairs = {name: _pair(app, name, source) for name, source in hybrids.items()}
    run_id = f"hybrid-{app.config.name}"
    marks = watermarks_of(app, {name: pair.past.identifier for name, pair in pairs.items()})
    offsets = hand_over(workspace, pairs, run_id, marks, fresh=opening.fresh)
    state = state_of(workspace, run_id)
    plan = state.plan()
    log_widening(plan)
    tables = sources_of(workspace, plan)
    spark.dataSource.register(hybrid_source.HybridSource)
    streams = {}
    for name, pair in pairs.items():
        options = live_options(opening, hybrids[name].live, bound_ahead(app, name))
        table = tables[pair.past.identifier]
        columns = from_iceberg(table.table.schema(), table.table.properties)
        live = stored_avro(options["schema"], "the source's schema")
        found = list(differences(own_columns(columns), live, ("the table", "the topic")))
        if found:
            raise Terminal(
                f"the table and the topic of {name} have different columns: {'; '.join(found)}",
                "give them one schema",
            )
        options |= {
            "plan": str(state.plan_file),
            "table": pair.past.identifier,
            "handover": json.dumps(offsets[name]),
        }
        streams[name] = spark.readStream.format(hybrid_source.NAME).options(**options).load()
    # What the histories deliver out of order is late for a watermark that is no wider than live.
    return with_watermarks(app, streams, plan.widening())


def _pair(app: LoadedApp, name: str, source: HybridSource) -> Pair:
    past, live = app.config.sources.get(source.past), app.config.sources.get(source.live)
    if not isinstance(past, IcebergSource) or not isinstance(live, KafkaTopics):
        raise UsageError(
            f"{name} of {app.config.name} is not a hybrid source of a table and topics",
            "past: a source of type iceberg; live: a source of type kafka",
        )
    return Pair(past, live, source.order)


def hand_over(
    workspace: Workspace,
    pairs: Mapping[str, Pair],
    run_id: str,
    watermarks: Sequence[Watermark] = (),
    *,
    fresh: bool,
) -> dict[str, Offset]:
    """Return where the sources of one query go on in their topics, after the run's plan over tables.

    It is decided until the query has its first batch, and kept from then on. So the plan and the
    positions always belong together: a start that was killed between them decides both again. The
    tables' snapshots are held by a tag until nobody reads them any more.
    """
    state = state_of(workspace, run_id)
    kept = state.folder / "handover.json"
    if fresh:
        plan, offsets = _decided(workspace, pairs, watermarks)
        for source in sources_of(workspace, plan).values():
            tags.hold(source, run_id)
        plan.write(state.plan_file)
        state_files.write(kept, json.dumps(offsets).encode())
    missing = [one.name for one in (state.plan_file, kept) if not one.exists()]
    if missing:
        raise Terminal(
            f"the offsets where {', '.join(pairs)} continues after its history are lost: "
            f"{state.folder} has no {' and no '.join(missing)}",
            "restore that folder; or start over with another name in the file or another state_dir",
        )
    return state_files.read(kept, dict[str, Offset], f"restore {kept}, or start over")


def commit_state_of(states: Iterable[CommitState], topic: str, table: str) -> CommitState:
    """Return the commit state that has the next offset of each partition of a topic."""
    found = [state for state in states if state.identity.topic == topic]
    if len(found) != 1:
        who = ", ".join(state.identity.writer for state in found) or "no lake writer"
        raise Terminal(
            f"{who} landed topic {topic} in {table}, so the offset to continue live from is not "
            "known",
            "a hybrid source needs a table that one lake writer fills from the topic",
        )
    return found[0]


def gaps(positions: Mapping[int, int], held: Mapping[int, range], topic: str) -> list[str]:
    """Say which records are neither in the table nor in the topic any more."""
    found = []
    for number, span in sorted(held.items()):
        # A partition that the writer has not seen yet is read from its beginning.
        at = positions.get(number, 0)
        if at < span.start:
            found.append(f"{topic}-{number} @ {at:,} to {span.start - 1:,}")
        elif at > span.stop:
            found.append(
                f"{topic}-{number} ends at {span.stop:,}, but the table has it up to {at:,}"
            )
    return found


def _decided(
    workspace: Workspace, pairs: Mapping[str, Pair], watermarks: Sequence[Watermark]
) -> tuple[Plan, dict[str, Offset]]:
    """Return plan and offsets of one and the same state of the tables, which move on meanwhile."""
    for _ in range(ATTEMPTS):
        tables = {name: load_table(workspace, pair.past.identifier) for name, pair in pairs.items()}
        offsets = {name: _offset(workspace, name, pairs[name], tables[name]) for name in pairs}
        plan = _plan(workspace, pairs, watermarks)
        planned = {source.name: source.snapshot_id for source in plan.sources}
        if all(
            planned[pairs[name].past.identifier] == table.metadata.current_snapshot_id
            for name, table in tables.items()
        ):
            return plan, offsets
    raise Transient(
        "other jobs committed to the tables each time that their history was planned",
        "start it again when fewer jobs commit to them",
    )


def _offset(workspace: Workspace, name: str, pair: Pair, table: Table) -> Offset:
    """Return the first offsets that a table does not have, with the epochs of leaders that had all."""
    kafka = KafkaCluster(workspace.cluster(pair.live.cluster))
    positions: Positions = {}
    epochs: Epochs = {}
    missing: list[str] = []
    for topic in pair.live.topics:
        ends = kafka.ends(topic)
        state = commit_state_of(_commit_states(table), topic, pair.past.identifier)
        following = state.next_offsets
        missing += gaps(following, ends.spans, topic)
        reached = {number: Reached(one.next, one.epoch) for number, one in state.spans.items()}
        missing += [
            (
                f"{topic}-{number} @ {span.start:,} to {span.stop - 1:,} (other records than the "
                "table has)"
            )
            for number, span in sorted(kafka.replaced(topic, reached, ends).items())
        ]
        positions[topic] = {
            number: following.get(number, span.start) for number, span in ends.spans.items()
        }
        known = ends.epochs_at(positions[topic])
        epochs[topic] = {number: epoch for number, epoch in known.items() if epoch != NO_EPOCH}
    if missing:
        raise Terminal(
            f"records are missing between the table and the topic of {name}: {'; '.join(missing)}",
            "nothing was started. Run the lake writer until it has caught up, before retention "
            "removes more, or restore the topic; a live candidate alone begins with the records "
            "that remain",
        )
    return to_json(positions, epochs)


def _commit_states(table: Table) -> list[CommitState]:
    prefix = state_property("")
    writers = [name.removeprefix(prefix) for name in table.properties if name.startswith(prefix)]
    found = [state_in(table, writer) for writer in writers]
    return [state for state in found if state is not None]


def _plan(workspace: Workspace, pairs: Mapping[str, Pair], watermarks: Sequence[Watermark]) -> Plan:
    threshold = smallest_threshold(pair.past for pair in pairs.values())
    tables = tuple(pair.past.identifier for pair in pairs.values())
    # The sources go through their histories in one plan: who asks for more decides for all.
    order: Order = "strict" if any(pair.order == "strict" for pair in pairs.values()) else "bounded"
    request = ReplayRequest(
        tables,
        ALWAYS,
        (),
        order,
        threshold // MICROSECOND,
        # There is nobody to ask whether times without bounds may be read.
        scan=True,
        null_times={pair.past.identifier: pair.past.null_times for pair in pairs.values()},
        # What has not landed yet comes from the topic.
        up_to="committed",
    )
    return plan_to_run(workspace, request, watermarks=watermarks)
