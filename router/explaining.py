"""`router explain`: what a stream makes of given records, output by output."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from headrace.records.hygiene import Broken
from router.given import read_given
from router.outcomes import Decoder, DirectOutcomes, Lane, lane_of
from router.planning import Planner

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from headrace.config.effective import Effective
    from headrace.config.workspace import Workspace
    from router.given import GivenRecord
    from router.outcomes import BySpark, Outcome
    from router.plan import RoutePlan


@dataclass(frozen=True, slots=True)
class Explained:
    """One record: the rule that it breaks; or how outputs see it, and what they make of it.

    An output that only Spark can evaluate, and that nobody let it, has None.
    """

    line: int
    record: GivenRecord
    broken: Broken | None
    seen: bytes | None
    outcomes: Mapping[str, Outcome | None]


@dataclass(frozen=True, slots=True)
class Explanation:
    """All records, and the lane of each output."""

    plan: RoutePlan
    lanes: Sequence[Lane]
    records: Sequence[Explained]


def explanation_of(
    workspace: Workspace,
    stream: Effective,
    file: Path,
    by_spark: BySpark | None,
    *,
    envelope: bool,
) -> Explanation:
    """Return what becomes of the records of a file."""
    plan = Planner(workspace, stream).plan()
    now_ms = time.time_ns() // 1_000_000
    given = list(read_given(file, plan.source, now_ms, envelope=envelope))
    return explain(plan, given, by_spark)


def explain(
    plan: RoutePlan, given: Sequence[tuple[int, GivenRecord]], by_spark: BySpark | None
) -> Explanation:
    """Return what becomes of each record; `by_spark` evaluates what Python does not."""
    now_ms = time.time_ns() // 1_000_000
    lanes = [lane_of(outlet, plan) for outlet in plan.outlets]
    decode = Decoder(plan)
    direct = DirectOutcomes(plan, [one.compiled for one in lanes if one.compiled is not None])
    sorted_out = [(line, record, decode(record, now_ms)) for line, record in given]
    good = [(record, row) for _, record, row in sorted_out if not isinstance(row, Broken)]
    by_name = {
        one.outlet.name: iter(
            [None] * len(good) if by_spark is None else by_spark(plan, one.outlet, good)
        )
        for one in lanes
        if one.compiled is None
    }
    explained: list[Explained] = []
    for line, record, row in sorted_out:
        found = row if isinstance(row, Broken) else direct(record, now_ms)
        if isinstance(found, Broken):
            explained.append(Explained(line, record, found, None, {}))
            continue
        whole = {**found, **{name: next(outcomes) for name, outcomes in by_name.items()}}
        in_order = {one.outlet.name: whole[one.outlet.name] for one in lanes}
        explained.append(Explained(line, record, None, decode.shown(row), in_order))
    return Explanation(plan, lanes, explained)
