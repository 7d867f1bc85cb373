"""How far the members of a stream are and who runs them, from the ledgers alone; no record is read."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from headrace.contract import QUARANTINE
from router.ledger.claims import DEAD_AFTER_S, heard_of, owners
from router.ledger.entries import BEGINNING, total
from router.ledger.topic import members_in
from router.plan.planner import Planner
from router.run.ledger_rows import lost_in
from router.run.ledgers import Ledgers

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from headrace.config.stream.effective import Effective
    from headrace.config.workspace.workspace import Workspace
    from headrace.errors import HeadraceError, Terminal
    from headrace.kafka.cluster import KafkaCluster
    from router.ledger.claims import LedgerRecord, Owner
    from router.ledger.entries import Counts
    from router.ledger.places import Place
    from router.ledger.topic import MemberPlaces


@dataclass(frozen=True, slots=True)
class Standing:
    """One output, or the quarantine.

    `positions` are its next offsets, None where it has never begun; `runner` has been heard of
    just now. `counts` are of all records from its first one on, `lost` is how many offsets it never had.
    """

    name: str
    runner: Owner | None = None
    positions: Mapping[int, int] | None = None
    last_batch: str | None = None
    problem: str = ""
    counts: Counts | None = None
    lost: int | None = None
    places: Mapping[int, Place] = field(default_factory=dict)


def standings(
    workspace: Workspace,
    stream: Effective,
    clusters: dict[str, KafkaCluster],
    away: Mapping[str, HeadraceError],
) -> list[Standing]:
    """Return how all members of a stream stand; its source's cluster has to answer.

    `clusters` are the connections that there are; those that are `away` are not asked.
    """
    planner = Planner(workspace, stream, clusters)
    plan = planner.plan()
    ledgers = Ledgers(planner, plan)
    source = stream.config.source
    names = [output.name for output in stream.config.outputs]
    if stream.config.quarantine is not None:
        names.append(QUARANTINE)
    held_as = {name: plan.held_as(name) for name in names}
    topic_id = planner.kafka(source.cluster).topic_id(source.topic)
    try:
        found = {
            standing.name: standing
            for cluster, own in ledgers.by_cluster(names).items()
            for standing in (
                [Standing(name, problem=away[cluster].message) for name in own]
                if cluster in away
                else _standings(ledgers.on(cluster).read(), held_as, own, topic_id)
            )
        }
        return [found[name] for name in names]
    finally:
        ledgers.close()


def _standings(
    records: Sequence[LedgerRecord], held_as: Mapping[str, str], names: list[str], topic_id: str
) -> list[Standing]:
    damaged: dict[str, Terminal] = {}
    known = members_in(records, damaged)
    owned, heard = owners(records, held_as.values(), topic_id), heard_of(records)
    since_ms = (time.time() - DEAD_AFTER_S) * 1000
    found = []
    for name in names:
        held = held_as[name]
        owner = owned[held][1] if held in owned else None
        is_alive = owner is not None and heard.get(owner.session, 0) >= since_ms
        if held in damaged:
            found.append(Standing(name, problem=damaged[held].message))
        else:
            runner = owner if is_alive else None
            found.append(_standing(name, runner, known.get(held, {}), topic_id))
    return found


def _standing(
    name: str, runner: Owner | None, known: Mapping[str, MemberPlaces], topic_id: str
) -> Standing:
    own = known.get(topic_id)
    if own is None:
        problem = ""
        if known and runner is None:
            other = next(iter(known.values())).topic
            problem = f"its position is in another topic: {other.topic}, id {other.topic_id}"
        return Standing(name, runner, problem=problem)
    positions = {number: place.stretch.end_exclusive for number, place in own.places.items()}
    batches = [place.at for place in own.places.values() if place.batch > BEGINNING]
    return Standing(
        name,
        runner,
        positions,
        max(batches, default=None),
        counts=total(place.counts for place in own.places.values()),
        lost=lost_in(own.places.values()),
        places=own.places,
    )
