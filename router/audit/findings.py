"""What a ledger says, and what is wrong with it: the arithmetic of the audit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

from headrace.kafka.offset_set import shown_offsets
from router.ledger.entries import by_partition, flaws, total

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from router.ledger.entries import Counts, LedgerEntry, LedgerStretch

Kind: TypeAlias = Literal["missing", "twice", "lost", "batch", "topic", "ledger"]


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that must not be; `partition` is None where it is all of them."""

    kind: Kind
    partition: int | None
    message: str


@dataclass(frozen=True, slots=True)
class PartitionAudit:
    """One partition of one output: from where to where, and what became of its records.

    `absent` offsets held no record. `end` is the topic's next offset, None where it is not known.
    """

    partition: int
    began: int
    done: int
    counts: Counts
    lost: int
    absent: int
    end: int | None

    @property
    def lag(self) -> int | None:
        """How many offsets are still to be read."""
        return None if self.end is None else max(self.end - self.done, 0)


@dataclass(frozen=True, slots=True)
class MemberAudit:
    """An output, or the quarantine: its partitions, what was found, and what is not known."""

    name: str
    partitions: Sequence[PartitionAudit] = ()
    findings: Sequence[Finding] = ()
    notes: Sequence[str] = ()
    has_run: bool = True


def judged(
    name: str, topic: str, entries: Sequence[LedgerEntry], spans: Mapping[int, range]
) -> MemberAudit:
    """Return what a ledger says of a topic that holds these offsets now."""
    stretches = by_partition(entries)
    findings = [*_flaws(topic, entries), *_lost(topic, entries)]
    for number, own in sorted(stretches.items()):
        findings += _against(topic, number, own[-1].end_exclusive, spans.get(number))
    partitions = [
        _partition(number, own, spans.get(number)) for number, own in sorted(stretches.items())
    ]
    unknown = sorted(spans.keys() - stretches.keys())
    notes = [f"partition {number} is new, and no record of it was read yet" for number in unknown]
    return MemberAudit(name, partitions, findings, notes)


def stretches_with_absent(entries: Iterable[LedgerEntry]) -> dict[int, list[LedgerStretch]]:
    """Return, by partition, the stretches in which offsets held no record, in order."""
    found = {
        number: [one for one in own if one.absent > 0]
        for number, own in by_partition(entries).items()
    }
    return {number: own for number, own in found.items() if own}


def unread(topic: str, number: int, stretch: LedgerStretch, there: int) -> Finding | None:
    """Return the finding of a stretch in which the topic has more records than were read."""
    more = there - stretch.counts.read
    if more <= 0:
        return None
    where = shown(topic, number, range(stretch.start + stretch.lost, stretch.end_exclusive))
    return Finding("missing", number, f"missing: {more:,} of the {there:,} records in {where}")


def shown(topic: str, number: int, span: range) -> str:
    """Return a range of offsets as users read it."""
    return f"{topic}-{number} {shown_offsets(span)}"


def _flaws(topic: str, entries: Sequence[LedgerEntry]) -> Iterator[Finding]:
    for flaw in flaws(entries):
        word, _, rest = flaw.message.partition(": ")
        kind: Kind = "missing" if word == "missing" else "twice" if word == "twice" else "batch"
        yield Finding(kind, flaw.partition, f"{word}: {topic}-{flaw.partition} {rest}")


def _lost(topic: str, entries: Sequence[LedgerEntry]) -> Iterator[Finding]:
    for entry in entries:
        for number, stretch in sorted(entry.stretches.items()):
            if stretch.replaced:
                others = range(stretch.start - stretch.replaced, stretch.start)
                why = (
                    "these offsets were read before the topic was truncated; the records that "
                    "they hold now were not routed"
                )
                yield Finding("lost", number, f"lost: {shown(topic, number, others)}: {why}")
            if stretch.lost:
                what = shown(topic, number, range(stretch.start, stretch.start + stretch.lost))
                message = f"lost: {what}: the topic lost them before they were routed"
                yield Finding("lost", number, message)


def _against(topic: str, number: int, done: int, span: range | None) -> Iterator[Finding]:
    if span is None:
        yield Finding("topic", number, f"topic: {topic}-{number} no longer exists")
    elif span.stop < done:
        message = f"topic: {topic}-{number} ends at {span.stop}, but was already read up to {done}"
        yield Finding("topic", number, message)
    elif span.start > done:
        where = shown(topic, number, range(done, span.start))
        message = f"missing: {where}: the topic lost them before they were routed"
        yield Finding("missing", number, message)


def _partition(number: int, own: Sequence[LedgerStretch], span: range | None) -> PartitionAudit:
    return PartitionAudit(
        partition=number,
        began=own[0].start,
        done=own[-1].end_exclusive,
        counts=total(one.counts for one in own),
        lost=sum(one.lost for one in own),
        absent=sum(one.absent for one in own),
        end=None if span is None else span.stop,
    )
