"""The last batches in a stream's ledgers: what each read, wrote, filtered, rejected and lost.

Kafka compacts a ledger, so of batches long ago only their sums are left.
"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Final

from headrace.contract import QUARANTINE
from headrace.http.detail_rows import LedgerBatch, LedgerHistory
from router.ledger.entries import BEGINNING
from router.ledger.topic import members_in
from router.plan.planner import Planner
from router.run.ledgers import Ledgers

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from headrace.config.stream.effective import Effective
    from headrace.config.workspace.workspace import Workspace
    from router.ledger.places import Place

# A page reads so many records of a ledger: one for each partition that a batch read.
MOST_RECORDS: Final = 20_000
MOST_BATCHES: Final = 500


def history(workspace: Workspace, stream: Effective) -> list[LedgerHistory]:
    """Return the last batches of each output, and of the quarantine. It asks the clusters."""
    config = stream.config
    planner = Planner(workspace, stream)
    plan = planner.plan()
    names = [output.name for output in config.outputs]
    if config.quarantine is not None:
        names.append(QUARANTINE)
    found: dict[str, LedgerHistory] = {}
    topic_id = planner.kafka(config.source.cluster).topic_id(config.source.topic)
    with contextlib.closing(Ledgers(planner, plan)) as ledgers:
        for cluster, own in ledgers.by_cluster(names).items():
            records, is_cut = ledgers.on(cluster).newest(MOST_RECORDS)
            # A place that cannot be read is told of where the stream's state is.
            known = members_in(records, {})
            for name in own:
                places = known.get(plan.held_as(name), {}).get(topic_id)
                batches = [] if places is None else batches_of(places.history)
                is_long = len(batches) > MOST_BATCHES
                found[name] = LedgerHistory(name, batches[-MOST_BATCHES:], is_cut or is_long)
    return [found[name] for name in names]


def batches_of(history: Mapping[int, Sequence[Place]]) -> list[LedgerBatch]:
    """Return the batches of one member, all partitions together, the newest last."""
    found: dict[int, LedgerBatch] = {}
    for places in history.values():
        for place in places:
            if place.batch <= BEGINNING:
                continue
            stretch = place.stretch
            counts = stretch.counts
            before = found.get(place.batch, LedgerBatch(place.batch, place.at, 0, 0, 0, 0, 0))
            found[place.batch] = LedgerBatch(
                place.batch,
                max(before.at, place.at),
                before.read + counts.read,
                before.written + counts.written,
                before.filtered + counts.filtered,
                before.dropped + sum(counts.dropped.values()),
                before.quarantined + counts.quarantined,
                before.lost + stretch.lost + stretch.replaced,
            )
    return sorted(found.values(), key=lambda one: (one.at, one.batch))
