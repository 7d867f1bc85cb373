"""A job of the line: the outputs of a group, from their positions in the topic on."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

from headrace.kafka.positions import capped, shared_out, stretches
from headrace.kafka.source_topic import require_not_shorter
from headrace.line.job import Batch
from router.ledger.entries import Counts, LedgerStretch
from router.tasks.task import RoutingWork

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import timedelta

    from headrace.kafka.leaders import TopicEnds
    from headrace.kafka.positions import TopicRange
    from headrace.kafka.source_topic import SourceTopic
    from router.plan.model import RoutePlan
    from router.plan.planner import Planner
    from router.run.member import Member
    from router.tasks.task import Done

# A batch takes seconds at most: so long a drain lasts, and so much is repeated after a crash.
MOST_PER_BATCH: Final = 1_000_000


@dataclass(slots=True)
class RouterJob:
    """The members of one query, by name; with `once` it ends where the topic ends now."""

    name: str
    members: Mapping[str, Member]
    planner: Planner
    plan: RoutePlan
    source: SourceTopic
    tasks: int
    interval: timedelta | None
    once: bool
    _until: Mapping[int, int] | None = field(default=None, init=False)
    _stretches: dict[str, dict[int, LedgerStretch]] = field(default_factory=dict, init=False)

    @property
    def is_done(self) -> bool:
        """Whether every member is where the topic ended when it was first looked at."""
        until = self._until or {}
        return all(at >= until[number] for number, at in self._first_positions(until).items())

    def begin(self) -> None:
        """Look up what its tasks need, and where its members are."""
        self.plan = self.planner.resolved(self.plan, self.members)
        for member in self.members.values():
            member.begin(self.source)
        if self.once and self._until is None:
            self._until = self.source.kafka.ends(self.source.topic).next_offsets

    def next_batch(self) -> Batch | None:
        """Return the ranges that the topic has behind the members' positions."""
        source = self.source
        # Before the records are read: what a leader had by then was not replaced since.
        held = source.kafka.ends(source.topic)
        there = held.next_offsets
        if self._until is not None:
            there = {number: min(at, self._until.get(number, 0)) for number, at in there.items()}
        first = self._first_positions(there)
        if first == there:
            return None
        topic_id = source.identity()
        for member in self.members.values():
            member.require_same(topic_id)
        ends = capped({source.topic: first}, {source.topic: there}, MOST_PER_BATCH)[source.topic]
        self._stretches = {
            name: self._stretches_of(member, held, ends) for name, member in self.members.items()
        }
        ranges = stretches({source.topic: first}, {source.topic: ends})
        works = [self._work(part) for part in shared_out(ranges, self.tasks)]
        return Batch(works, ends, sum(there[number] - end for number, end in ends.items()))

    def finish(self, answers: Sequence[Done]) -> None:
        """Write what became of the records into the members' ledgers."""
        for done in answers:
            if done.problem is not None:
                raise done.problem
        for name, member in self.members.items():
            counts = {
                number: one for done in answers for number, one in done.counts.get(name, {}).items()
            }
            own = {
                number: replace(stretch, counts=counts.get(number, Counts()))
                for number, stretch in self._stretches[name].items()
            }
            if own:
                member.record(own)

    def _first_positions(self, ends: Mapping[int, int]) -> dict[int, int]:
        """Return the position of the member that is furthest behind, for each partition.

        A partition that a member does not know was made after it began: nothing of it was read.
        """
        known = [member.ledger.positions for member in self.members.values()]
        return {number: min(one.get(number, 0) for one in known) for number in ends}

    def _stretches_of(
        self, member: Member, held: TopicEnds, ends: Mapping[int, int]
    ) -> dict[int, LedgerStretch]:
        """Return what a member is to read, as its ledger will have it, before anything is counted."""
        source = self.source
        reached = member.reached
        begin = {number: reached[number].offset if number in reached else 0 for number in ends}
        if any(ends[number] < at for number, at in begin.items()):
            # A batch may also end before an output that is ahead of the others.
            require_not_shorter(member.reader, source.topic, begin, held.spans)
        lost = source.lost(member.reader, begin, held.spans, ends)
        replaced = source.replaced(member.reader, reached, held)
        return {
            number: LedgerStretch(
                at,
                ends[number],
                Counts(),
                len(lost.get(number, ())),
                len(replaced.get(number, ())),
                held.epoch(number, ends[number]),
            )
            for number, at in begin.items()
            if at < ends[number]
        }

    def _work(self, part: Sequence[TopicRange]) -> RoutingWork:
        ends = {one.partition: one.end for one in part}
        starts = {
            name: {number: own[number].start + own[number].lost for number in ends if number in own}
            for name, own in self._stretches.items()
        }
        return RoutingWork(self.plan, ends, starts)
