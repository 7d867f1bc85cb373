"""Where a hybrid source hands over: the table's own mark says what it has of each partition."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from backfill import tags
from backfill.period import parse_period
from backfill.request import Request, plan_to_run, sources_of, state_of
from headrace import state_files
from headrace.application.places import epochs_from_json, from_json, to_json
from headrace.errors import Terminal, Transient
from headrace.iceberg.catalog import load_table
from headrace.iceberg.history import main_line
from headrace.kafka.cluster import KafkaCluster
from headrace.kafka.truncation import NO_EPOCH, Reached
from headrace.landing.marks import SUMMARY, Told, mark_property, standing

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from pyiceberg.table import Table

    from backfill.plan import Order, Plan
    from backfill.widening import Watermark
    from headrace.application.places import Epochs, Places
    from headrace.config.app import IcebergSource, KafkaTopics
    from headrace.config.workspace import Workspace
    from headrace.landing.marks import Mark

ALL_OF_IT = ("0001-01-01", "9999-12-31")
MICROSECONDS_PER_S = 1_000_000
ATTEMPTS = 5


@dataclass(frozen=True, slots=True)
class Pair:
    """A table and the topics that it is landed from."""

    past: IcebergSource
    live: KafkaTopics
    order: Order = "bounded"


@dataclass(frozen=True, slots=True)
class Handover:
    """The plan over the tables, and the first offsets that none of them has.

    `epochs` are those of leaders whose logs had all before them.
    """

    plan_file: Path
    places: Mapping[str, Places]
    epochs: Mapping[str, Epochs]


def hand_over(
    workspace: Workspace,
    pairs: Mapping[str, Pair],
    run_id: str,
    watermarks: Sequence[Watermark] = (),
    *,
    fresh: bool,
) -> Handover:
    """Return how the sources of one query go from their tables on to their topics.

    It is decided until the query has its first batch, and kept from then on. So the plan and the
    places always belong together: a start that was killed between them decides both anew. The
    tables' snapshots are held by a tag until nobody reads them any more.
    """
    state = state_of(workspace, run_id)
    kept = state.folder / "handover.json"
    if fresh:
        plan, places, epochs = _decided(workspace, pairs, watermarks)
        for source in sources_of(workspace, plan).values():
            tags.hold(source, run_id)
        plan.write(state.plan_file)
        decided = {name: to_json(one, epochs[name]) for name, one in places.items()}
        state_files.write(kept, json.dumps(decided).encode())
    missing = [one.name for one in (state.plan_file, kept) if not one.exists()]
    if missing:
        raise Terminal(
            f"where {', '.join(pairs)} goes on from its history is not known any more:"
            f" {state.folder} has no {' and no '.join(missing)}",
            "restore that folder; or begin anew: another name in the file, or another state_dir",
        )
    said = state_files.read(kept, dict[str, dict[str, Any]], f"restore {kept}, or begin anew")
    return Handover(
        state.plan_file,
        {name: from_json(one) for name, one in said.items()},
        {name: epochs_from_json(one) for name, one in said.items()},
    )


def mark_of(marks: Iterable[Mark], topic: str, table: str) -> Mark:
    """Return the mark that says which offset of each partition of a topic a table has next."""
    found = [mark for mark in marks if mark.identity.topic == topic]
    if len(found) != 1:
        who = ", ".join(mark.identity.writer for mark in found) or "no lake writer"
        raise Terminal(
            f"{who} says what {table} has of topic {topic}: where to go on live is not known",
            "a hybrid source needs a table that one lake writer fills from the topic",
        )
    return found[0]


def gaps(places: Mapping[int, int], held: Mapping[int, range], topic: str) -> list[str]:
    """Say which records are neither in the table nor in the topic any more."""
    told = []
    for number, span in sorted(held.items()):
        # A partition that the writer has not seen yet is read from its beginning.
        at = places.get(number, 0)
        if at < span.start:
            told.append(f"{topic}-{number} @ {at:,} to {span.start - 1:,}")
        elif at > span.stop:
            told.append(f"{topic}-{number} ends at {span.stop:,}, before the table does ({at:,})")
    return told


def _decided(
    workspace: Workspace, pairs: Mapping[str, Pair], watermarks: Sequence[Watermark]
) -> tuple[Plan, dict[str, Places], dict[str, Epochs]]:
    """Return plan and places of one and the same state of the tables, which move on meanwhile."""
    for _ in range(ATTEMPTS):
        tables = {name: load_table(workspace, pair.past.identifier) for name, pair in pairs.items()}
        found = {name: _places(workspace, name, pairs[name], tables[name]) for name in pairs}
        plan = _plan(workspace, pairs, watermarks)
        planned = {source.name: source.snapshot_id for source in plan.sources}
        if all(planned[pairs[name].past.identifier] == _head(tables[name]) for name in pairs):
            places = {name: one for name, (one, _) in found.items()}
            return plan, places, {name: epochs for name, (_, epochs) in found.items()}
    raise Transient(
        "the tables were committed to each time that their history was planned",
        "start it again, at a quieter moment",
    )


def _head(table: Table) -> int | None:
    head = table.current_snapshot()
    return None if head is None else head.snapshot_id


def _places(workspace: Workspace, name: str, pair: Pair, table: Table) -> tuple[Places, Epochs]:
    kafka = KafkaCluster(workspace.cluster(pair.live.cluster))
    places: Places = {}
    epochs: Epochs = {}
    told: list[str] = []
    for topic in pair.live.topics:
        ends = kafka.ends(topic)
        mark = mark_of(_marks(table), topic, pair.past.identifier)
        following = mark.next_offsets
        told += gaps(following, ends.spans, topic)
        reached = {number: Reached(one.next, one.epoch) for number, one in mark.spans.items()}
        told += [
            f"{topic}-{number} @ {span.start:,} to {span.stop - 1:,} (others than the table has)"
            for number, span in sorted(kafka.replaced(topic, reached, ends).items())
        ]
        places[topic] = {
            number: following.get(number, span.start) for number, span in ends.spans.items()
        }
        known = {number: ends.epoch(number, at) for number, at in places[topic].items()}
        epochs[topic] = {number: epoch for number, epoch in known.items() if epoch != NO_EPOCH}
    if told:
        raise Terminal(
            f"between the table and the topic of {name} records are missing: {'; '.join(told)}",
            "nothing was started. Let the lake writer catch up before retention takes more, or"
            " restore the topic; a live candidate alone begins at what is there",
        )
    return places, epochs


def _marks(table: Table) -> list[Mark]:
    prefix = mark_property("")
    line = [
        Told(
            one.snapshot_id,
            None if one.summary is None else one.summary.additional_properties.get(SUMMARY),
        )
        for one in main_line(table)
    ]
    known = [one.snapshot_id for one in table.metadata.snapshots]
    found = [
        standing(name.removeprefix(prefix), said, line, known)
        for name, said in table.properties.items()
        if name.startswith(prefix)
    ]
    return [mark for mark in found if mark is not None]


def _plan(workspace: Workspace, pairs: Mapping[str, Pair], watermarks: Sequence[Watermark]) -> Plan:
    threshold = min(pair.past.max_misalignment_threshold for pair in pairs.values())
    threshold_us = round(threshold.total_seconds() * MICROSECONDS_PER_S)
    tables = tuple(pair.past.identifier for pair in pairs.values())
    # The sources go through their histories in one plan: who asks for more decides for all.
    order: Order = "strict" if any(pair.order == "strict" for pair in pairs.values()) else "bounded"
    request = Request(
        tables,
        parse_period(*ALL_OF_IT),
        (),
        order,
        threshold_us,
        # There is nobody to ask whether times without bounds may be read.
        scan=True,
        null_times={pair.past.identifier: pair.past.null_times for pair in pairs.values()},
        # What has not landed yet comes from the topic.
        up_to="committed",
    )
    return plan_to_run(workspace, request, watermarks=watermarks)
