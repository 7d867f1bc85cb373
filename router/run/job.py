"""A job of the line: the outputs of a group, from their positions in the topic on."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from random import uniform
from typing import TYPE_CHECKING, Final

from headrace.errors import Transient
from headrace.kafka.positions import capped, shared_out, stretches
from headrace.kafka.source_topic import STATE_HOLDS_S, require_not_shorter, require_same
from headrace.kafka.watch import Unanswered
from headrace.landing.completeness import Completeness, Ends
from headrace.line.job import Batch, Outlook
from headrace.line.packs import LIGHT_RECORDS
from headrace.metrics.durations import Durations
from headrace.times import SECOND_US
from router.ledger.entries import Counts, LedgerStretch
from router.ledger.places import ReadTopic
from router.tasks.task import RoutingWork

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from datetime import timedelta

    from headrace.kafka.leaders import TopicEnds
    from headrace.kafka.positions import TopicRange
    from headrace.kafka.source_topic import SourceTopic
    from headrace.line.pace import Pace
    from router.ledger.claims import Claim
    from router.ledger.places import Place
    from router.plan.model import RoutePlan
    from router.plan.planner import Planner
    from router.run.ledgers import Ledgers
    from router.run.member import Member
    from router.tasks.sending import Refusal
    from router.tasks.task import Done

# However fast a stream is: what a batch's transaction holds is known to readers only at its end.
MOST_PER_BATCH: Final = 5_000_000
# Where a record is refused, its whole batch is: the next ones are small until it is behind us.
MOST_BESIDE_REFUSED: Final = 20_000
# How often a job that may be idle looks whether another host has taken its members over.
LOOK_EVERY_S: Final = 1.0
# So long an idle job of a fleet takes its members for its own; each looks at another time.
OURS_FOR_S: Final = (3.0, 6.0)


@dataclass(slots=True)
class RouterJob:
    """The members of one query, by name; with `once` it ends where the topic ends now."""

    name: str
    members: Mapping[str, Member]
    planner: Planner
    ledgers: Ledgers
    plan: RoutePlan
    source: SourceTopic
    tasks: Callable[[], int]
    interval: timedelta | None
    once: bool
    pace: Pace
    # What others may see of it: where the topic ended, and up to when everything was read.
    ends: Mapping[int, int] = field(default_factory=dict, init=False)
    completeness: Completeness = field(default_factory=Completeness, init=False)
    durations: Durations = field(default_factory=Durations, init=False)
    _until: Mapping[int, int] | None = field(default=None, init=False)
    _claims: Mapping[str, Claim] = field(default_factory=dict, init=False)
    _topic: ReadTopic = field(default=ReadTopic("", "", ""), init=False)
    _places: dict[str, dict[int, Place]] = field(default_factory=dict, init=False)
    _refused: list[Refusal] = field(default_factory=list, init=False)
    _looked_at_s: float = field(default=float("-inf"), init=False)
    # What others have found out for the next batch.
    _is_idle: bool = field(default=False, init=False)
    _ours_until_s: float = field(default=float("-inf"), init=False)

    @property
    def is_done(self) -> bool:
        """Whether every member is where the topic ended when it was first looked at."""
        until = self._until or {}
        return all(at >= until[number] for number, at in self._first_positions(until).items())

    def begin(self) -> None:
        """Look up what its tasks need, take its members, and find out where they are."""
        source = self.source
        self._is_idle, self._ours_until_s = False, float("-inf")
        if self._claims:
            self.pace.slower()
        plan = self.planner.resolved(self.plan, self.members)
        ends, topic_id = source.first_look()
        self._topic = ReadTopic(self.plan.source.cluster, source.topic, topic_id)
        self._claims = self.ledgers.begin(self.members, self._topic, self._claims)
        self.plan = self.ledgers.claimed(plan, self._claims)
        new = {name: one.starting_places(ends) for name, one in self.members.items()}
        self.ledgers.write(self._topic, new)
        for name, places in new.items():
            self.members[name].begin(places)
        if self.once and self._until is None:
            self._until = ends.next_offsets

    @property
    def soon_s(self) -> float:
        """How long the question about all topics takes."""
        return 0.0 if self.source.watch is None else self.source.watch.answers_in_s

    def outlook(self, since_s: float) -> Outlook:
        """Return what others have asked since then for all jobs of the process."""
        watch, topic = self.source.watch, self.source.topic
        if watch is None:
            return Outlook.ASK
        try:
            there = watch.next_offsets(topic, since_s)
            ours = since_s < self._ours_until_s or self.ledgers.are_ours(self._claims, since_s)
            if there is None or ours is None:
                return Outlook.SOON
            if ours and since_s >= self._ours_until_s:
                self._ours_until_s = since_s + uniform(*OURS_FOR_S)  # noqa: S311 - no secret
            self._is_idle = self._first_positions(there) == there
            if self._is_idle:
                self.ends = there
                ago_us = int((time.monotonic() - since_s) * SECOND_US)
                self.completeness = Completeness(time.time_ns() // 1_000 - ago_us)
                return Outlook.NOTHING if ours else Outlook.ASK
            return Outlook.ASK if watch.state(topic, since_s) else Outlook.SOON
        except Unanswered:
            return Outlook.ASK

    def _looked_at_us(self) -> int:
        """Return a time that is not after the next look at the topic: others may have looked for us."""
        ago_s = 0.0 if self.source.watch is None else STATE_HOLDS_S
        return time.time_ns() // 1_000 - int(ago_s * SECOND_US)

    def next_batch(self) -> Batch | None:
        """Return the ranges that the topic has behind the members' positions."""
        if self._is_idle:
            self._is_idle = False
            self._look_for_others(is_idle=True)
            return None
        source = self.source
        # Before the records are read: what a leader had by then was not replaced since.
        looked_at_us = self._looked_at_us()
        held, topic_id = source.seen()
        self.ends = there = held.next_offsets
        if self._until is not None:
            there = {number: min(at, self._until.get(number, 0)) for number, at in there.items()}
        first = self._first_positions(there)
        self._look_for_others(is_idle=first == there)
        if first == there:
            self.completeness = Completeness(looked_at_us)
            return None
        if topic_id is None:
            topic_id = source.identity()
        self.completeness = self.completeness.seen(Ends(looked_at_us, self.ends))
        for member in self.members.values():
            require_same(member.reader, source.topic, self._topic.topic_id, topic_id)
        most = min(self.pace.records, MOST_PER_BATCH)
        if self._refused:
            most = min(most, MOST_BESIDE_REFUSED)
        ends = capped({source.topic: first}, {source.topic: there}, most)[source.topic]
        self._places = {
            name: member.following(self._stretches_of(member, held, ends))
            for name, member in self.members.items()
        }
        ranges = stretches({source.topic: first}, {source.topic: ends})
        records = sum(map(len, ranges))
        # A transaction for a few records more is dearer than to read them in one task.
        tasks = min(self.tasks(), 1 + records // LIGHT_RECORDS)
        works = [self._work(part) for part in shared_out(ranges, tasks)]
        lag = sum(there[number] - end for number, end in ends.items())
        self.pace.begin(records, is_full=lag > 0 and not self._refused)
        return Batch(works, ends, lag)

    def finish(self, answers: Sequence[Done]) -> None:
        """Take over what became of the records; of members without transactions, keep it first."""
        for done in answers:
            if done.problem is not None:
                raise done.problem
        for done in answers:
            self._take_refused(done.refused)
        took_s = self.pace.end(sum(done.bytes for done in answers))
        places = {
            name: {
                number: own[number].counted(done.counts.get(name, {}).get(number, Counts()))
                for done in answers
                for number in done.partitions
                if number in own
            }
            for name, own in self._places.items()
        }
        own_writes = {
            name: one for name, one in places.items() if not self.ledgers.is_transactional(name)
        }
        self.ledgers.write(self._topic, own_writes)
        for name, one in places.items():
            if one:
                self.members[name].record(one)
        self.completeness = self.completeness.landed(self._first_positions(self.ends))
        self.durations.observe(took_s)
        self._refused = [
            one
            for one in self._refused
            if one.offset >= self.members[one.output].positions.get(one.partition, 0)
        ]

    def _look_for_others(self, *, is_idle: bool) -> None:
        """Raise TakenOver where another host has claimed a member.

        Who works in transactions meets that in them: whoever claims fences them.
        """
        own = all(self.ledgers.is_transactional(name) for name in self.members)
        if (is_idle or not own) and time.monotonic() - self._looked_at_s >= LOOK_EVERY_S:
            self.ledgers.require_ours(self._claims)
            self._looked_at_s = time.monotonic()

    def _take_refused(self, refused: Sequence[Refusal]) -> None:
        known = {(one.output, one.partition, one.offset) for one in self._refused}
        for one in refused:
            if (one.output, one.partition, one.offset) in known:
                raise Transient(f"output {one.output}: a record is refused again: {one.reason}")
        self._refused += refused

    def _first_positions(self, ends: Mapping[int, int]) -> dict[int, int]:
        """Return the position of the member that is furthest behind, for each partition.

        A partition that a member does not know was made after it began: nothing of it was read.
        """
        known = [member.positions for member in self.members.values()]
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
        places = {
            name: {number: place for number, place in own.items() if number in ends}
            for name, own in self._places.items()
        }
        refused = [one for one in self._refused if one.partition in ends]
        return RoutingWork(self.plan, ends, places, refused)
