"""`router audit`: the ledgers of a stream against its topic. It writes nothing and blocks nobody."""

from __future__ import annotations

import contextlib
from bisect import bisect_right
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Final

import structlog

from headrace.contract import QUARANTINE
from headrace.kafka.ranges import RangeReader, RecordsGone
from router.audit.findings import (
    Finding,
    MemberAudit,
    judged,
    stretches_with_absent,
    unread,
)
from router.ledger.places import ReadTopic, entries_of
from router.plan.planner import Planner
from router.run.ledgers import Ledgers

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from headrace.config.stream.effective import Effective
    from headrace.config.workspace.workspace import Workspace
    from headrace.errors import Terminal
    from headrace.kafka.cluster import KafkaCluster
    from router.ledger.entries import LedgerStretch
    from router.ledger.topic import MemberPlaces

LOG_EVERY_RECORDS: Final = 5_000_000
log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class StreamAudit:
    """The audits of a stream's outputs and of its quarantine."""

    stream: str
    cluster: str
    topic: str
    members: Sequence[MemberAudit]

    @property
    def findings(self) -> list[Finding]:
        """The findings of all members."""
        return [finding for member in self.members for finding in member.findings]

    @property
    def has_run(self) -> bool:
        """Whether any member has run."""
        return any(member.has_run for member in self.members)


def audit(workspace: Workspace, stream: Effective) -> StreamAudit:
    """Compare a stream's ledgers with its topic as it is now."""
    source = stream.config.source
    cluster = workspace.cluster(source.cluster)
    planner = Planner(workspace, stream)
    kafka = planner.kafka(cluster.name)
    configured = [output.name for output in stream.config.outputs]
    if stream.config.quarantine is not None:
        configured.append(QUARANTINE)
    damaged: dict[str, Terminal] = {}
    with contextlib.closing(Ledgers(planner, planner.plan())) as ledgers:
        known = ledgers.read_all(configured, damaged)
    others = sorted(name for name in {*known, *damaged} if name not in configured)
    names = [*configured, *others]
    if not known and not damaged:
        nothing = [MemberAudit(name, has_run=False) for name in names]
        return StreamAudit(stream.config.name, cluster.name, source.topic, nothing)
    topic = ReadTopic(cluster.name, source.topic, kafka.topic_id(source.topic))
    auditor = _Auditor(topic, kafka, damaged)
    members = [
        auditor.member(name, known.get(name, {}), is_configured=name in configured)
        for name in names
    ]
    return StreamAudit(stream.config.name, cluster.name, source.topic, members)


@dataclass(frozen=True, slots=True)
class _Auditor:
    source: ReadTopic
    kafka: KafkaCluster
    damaged: Mapping[str, Terminal]

    def member(
        self, name: str, known: Mapping[str, MemberPlaces], *, is_configured: bool
    ) -> MemberAudit:
        """Judge one member by what the ledger says of it."""
        if name in self.damaged:
            message = f"ledger: {self.damaged[name].message}"
            return MemberAudit(name, findings=[Finding("ledger", None, message)])
        own = known.get(self.source.topic_id) or next(
            (one for one in known.values() if one.topic.cluster == self.source.cluster), None
        )
        if own is None:
            return MemberAudit(name, has_run=False)
        notes = [] if is_configured else ["the stream's file no longer has this output"]
        entries = [
            entry for number, places in own.history.items() for entry in entries_of(number, places)
        ]
        other = self._other_topic(own.topic)
        if other is not None:
            found = judged(name, own.topic.topic, entries, {})
            more = [one for one in found.findings if one.kind != "topic"]
            return replace(found, findings=[other, *more], notes=notes)
        # After the ledger: what is written meanwhile makes the lag larger, and no gap.
        found = judged(name, self.source.topic, entries, self.kafka.offsets(self.source.topic))
        confirmed, unknown = self._confirm(stretches_with_absent(entries))
        return replace(
            found,
            findings=[*found.findings, *confirmed],
            notes=[*notes, *found.notes, *unknown],
        )

    def _other_topic(self, header: ReadTopic) -> Finding | None:
        if header.topic != self.source.topic:
            message = f"topic: its position is in {header.topic}, but the stream reads {self.source.topic}"
            return Finding("topic", None, message)
        if header.topic_id != self.source.topic_id:
            message = (
                f"topic: {self.source.topic} was deleted and re-created since this output began"
            )
            return Finding("topic", None, message)
        return None

    def _confirm(
        self, absent: Mapping[int, Sequence[LedgerStretch]]
    ) -> tuple[list[Finding], list[str]]:
        """Read the stretches again in which offsets held no record, where they are still there."""
        found: list[Finding] = []
        notes: list[str] = []
        if not absent:
            return found, notes
        spans = self.kafka.offsets(self.source.topic)
        with contextlib.closing(RangeReader(self.kafka.properties)) as reader:
            for number, stretches in absent.items():
                there = [one for one in stretches if _begin(one) >= spans[number].start]
                gone = sum(one.absent for one in stretches) - sum(one.absent for one in there)
                if gone:
                    notes.append(
                        f"partition {number}: {gone:,} offsets held no record, and the topic no "
                        "longer has the records around them, so they cannot be checked again"
                    )
                for run in _runs(there):
                    found += self._read_again(reader, number, run)
        return found, notes

    def _read_again(
        self, reader: RangeReader, number: int, run: Sequence[LedgerStretch]
    ) -> Iterator[Finding]:
        starts = [_begin(one) for one in run]
        there = [0] * len(run)
        span = range(starts[0], run[-1].end_exclusive)
        seen = 0
        try:
            for _, messages in reader.chunks(self.source.topic, {number: span}):
                for message in messages:
                    there[bisect_right(starts, message.offset()) - 1] += 1
                before, seen = seen, seen + len(messages)
                if seen // LOG_EVERY_RECORDS > before // LOG_EVERY_RECORDS:
                    log.info("records read again", partition=number, records=seen, of=len(span))
        except RecordsGone:
            # Retention was here in the meantime: what is left of them proves nothing.
            return
        for stretch, count in zip(run, there, strict=True):
            finding = unread(self.source.topic, number, stretch, count)
            if finding is not None:
                yield finding


def _begin(stretch: LedgerStretch) -> int:
    return stretch.start + stretch.lost


def _runs(stretches: Sequence[LedgerStretch]) -> Iterator[Sequence[LedgerStretch]]:
    """Split stretches where one does not begin at the end of the one before."""
    cuts = [
        index
        for index, (one, other) in enumerate(pairwise(stretches), start=1)
        if one.end_exclusive != _begin(other)
    ]
    for low, high in pairwise([0, *cuts, len(stretches)]):
        if low < high:
            yield stretches[low:high]
