"""`router audit`: the ledgers of a stream against its topic. Nothing is written, nobody is held up."""

from __future__ import annotations

import contextlib
from bisect import bisect_right
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Final

import structlog

from headrace.contract import QUARANTINE
from headrace.kafka.cluster import KafkaCluster
from headrace.kafka.ranges import RangeReader, RecordsGone
from router.ledger.file import LedgerDamaged, LedgerFile
from router.ledger.findings import (
    Finding,
    MemberAudit,
    judged,
    stretches_with_absent,
    unread,
)
from router.ledger.state import stream_state

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from headrace.config.stream.effective import Effective
    from headrace.config.workspace.workspace import Workspace
    from router.ledger.entries import LedgerStretch
    from router.ledger.file import Header
    from router.ledger.state import StreamState

LOG_EVERY_RECORDS: Final = 5_000_000
log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class StreamAudit:
    """All of a stream's outputs, and its quarantine."""

    stream: str
    cluster: str
    topic: str
    members: Sequence[MemberAudit]

    @property
    def findings(self) -> list[Finding]:
        """Everything that must not be."""
        return [finding for member in self.members for finding in member.findings]

    @property
    def has_run(self) -> bool:
        """Whether any output has."""
        return any(member.has_run for member in self.members)


def audit(workspace: Workspace, stream: Effective) -> StreamAudit:
    """Compare a stream's ledgers with its topic as it is now."""
    source = stream.config.source
    state = stream_state(workspace, stream.config.name)
    cluster = workspace.cluster(source.cluster)
    names = _names(state, stream)
    if not any(state.ledger(name).exists() for name in names):
        nothing = [MemberAudit(name, has_run=False) for name in names]
        return StreamAudit(stream.config.name, cluster.name, source.topic, nothing)
    kafka = KafkaCluster(cluster)
    auditor = _Auditor(source.topic, kafka.topic_id(source.topic), kafka)
    configured = {output.name for output in stream.config.outputs} | {QUARANTINE}
    members = [auditor.member(name, state, is_configured=name in configured) for name in names]
    return StreamAudit(stream.config.name, cluster.name, source.topic, members)


def _names(state: StreamState, stream: Effective) -> list[str]:
    """Return the outputs of the file, those that have a ledger without it, and the quarantine."""
    names = [output.name for output in stream.config.outputs]
    folders = state.root / "outputs"
    others = sorted(path.parent.name for path in folders.glob("*/ledger.jsonl"))
    names += [name for name in others if name not in names]
    has_quarantine = stream.config.quarantine is not None or state.ledger(QUARANTINE).exists()
    return [*names, QUARANTINE] if has_quarantine else names


@dataclass(frozen=True, slots=True)
class _Auditor:
    topic: str
    topic_id: str
    kafka: KafkaCluster

    def member(self, name: str, state: StreamState, *, is_configured: bool) -> MemberAudit:
        """Judge one ledger."""
        try:
            ledger = LedgerFile(state.ledger(name), is_ours=False)
        except LedgerDamaged as problem:
            return MemberAudit(
                name, findings=[Finding("ledger", None, f"ledger: {problem.message}")]
            )
        if ledger.header is None:
            return MemberAudit(name, has_run=False)
        notes = [] if is_configured else ["the stream's file no longer has this output"]
        other = self._other_topic(ledger.header)
        if other is not None:
            found = judged(name, ledger.header.topic, ledger.entries, {})
            own = [one for one in found.findings if one.kind != "topic"]
            return replace(found, findings=[other, *own], notes=notes)
        # After the ledger: what is written meanwhile makes the lag larger, and no gap.
        found = judged(name, self.topic, ledger.entries, self.kafka.offsets(self.topic))
        confirmed, unknown = self._confirm(stretches_with_absent(ledger.entries))
        return replace(
            found,
            findings=[*found.findings, *confirmed],
            notes=[*notes, *found.notes, *unknown],
        )

    def _other_topic(self, header: Header) -> Finding | None:
        if header.topic != self.topic:
            message = f"topic: its position is in {header.topic}, but the stream reads {self.topic}"
            return Finding("topic", None, message)
        if header.topic_id != self.topic_id:
            message = f"topic: {self.topic} was deleted and re-created since this output began"
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
        spans = self.kafka.offsets(self.topic)
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
            for _, messages in reader.chunks(self.topic, {number: span}):
                for message in messages:
                    there[bisect_right(starts, message.offset()) - 1] += 1
                before, seen = seen, seen + len(messages)
                if seen // LOG_EVERY_RECORDS > before // LOG_EVERY_RECORDS:
                    log.info("records read again", partition=number, records=seen, of=len(span))
        except RecordsGone:
            # Retention was here in the meantime: what is left of them proves nothing.
            return
        for stretch, count in zip(run, there, strict=True):
            finding = unread(self.topic, number, stretch, count)
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
