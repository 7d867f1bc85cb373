"""The audit is itself put to the test: one line of a ledger taken out, one put in twice."""

from __future__ import annotations

import itertools

from hypothesis import given
from hypothesis import strategies as st

from router.audit.findings import judged, stretches_with_absent, unread
from router.ledger.entries import (
    BEGINNING,
    Counts,
    LedgerEntry,
    LedgerStretch,
    by_partition,
)

AT = "2026-03-01T00:00:00.000Z"


def entry(batch: int, start: int, end: int, partition: int = 0) -> LedgerEntry:
    width = end - start
    return LedgerEntry(
        batch, AT, {partition: LedgerStretch(start, end, Counts(width, written=width))}
    )


def ledger(*ends: int) -> list[LedgerEntry]:
    """Return a sound ledger of one partition, from 0 on, with these ends of batches."""
    begin = LedgerEntry(BEGINNING, AT, {0: LedgerStretch(0, 0, Counts())})
    borders = [0, *ends]
    batches = itertools.pairwise(borders)
    return [begin, *(entry(number, *pair) for number, pair in enumerate(batches))]


def messages(entries: list[LedgerEntry], span: range) -> list[str]:
    return [one.message for one in judged("out", "raw", entries, {0: span}).findings]


def test_a_sound_ledger_has_no_findings_and_shows_the_lag() -> None:
    found = judged("out", "raw", ledger(10, 13), {0: range(20), 1: range(5)})
    assert not found.findings
    assert found.notes == ["partition 1 is new, and no record of it was read yet"]
    (partition,) = found.partitions
    assert (partition.began, partition.done, partition.lag) == (0, 13, 7)
    assert partition.counts == Counts(13, written=13)


def test_one_line_taken_out_is_missing_and_one_put_in_twice_is_told() -> None:
    sound = ledger(10, 13, 20)
    assert messages([*sound[:2], sound[3]], range(20)) == ["missing: raw-0 @ 10 to 12"]
    assert messages([*sound[:3], *sound[2:]], range(20)) == ["twice: raw-0 @ 10 to 12"]


@given(st.lists(st.integers(1, 50), min_size=3, max_size=12), st.data())
def test_any_line_that_is_gone_or_doubled_is_found(widths: list[int], data: st.DataObject) -> None:
    ends = [sum(widths[: number + 1]) for number in range(len(widths))]
    sound = ledger(*ends)
    assert messages(sound, range(ends[-1])) == []
    at = data.draw(st.integers(1, len(sound) - 2))
    stretch = sound[at].stretches[0]
    first, last = stretch.start, stretch.end_exclusive - 1
    where = f"raw-0 @ {first}" if first == last else f"raw-0 @ {first} to {last}"
    assert messages(sound[:at] + sound[at + 1 :], range(ends[-1])) == [f"missing: {where}"]
    assert messages([*sound[:at], sound[at], *sound[at:]], range(ends[-1])) == [f"twice: {where}"]


def test_a_batch_that_does_not_add_up() -> None:
    bad = LedgerEntry(0, AT, {0: LedgerStretch(0, 5, Counts(5, written=3))})
    assert messages([bad], range(5)) == ["batch 0: raw-0 read 5 records, but accounts for only 3"]


def test_offsets_that_hold_other_records_are_told() -> None:
    others = LedgerEntry(1, AT, {0: LedgerStretch(10, 30, Counts(20, written=20), replaced=3)})
    why = "these offsets were read before the topic was truncated; the records that they hold now were not routed"
    assert messages([*ledger(10), others], range(30)) == [f"lost: raw-0 @ 7 to 9: {why}"]


def test_what_retention_took_is_told_exactly() -> None:
    lost = LedgerEntry(1, AT, {0: LedgerStretch(10, 30, Counts(5, written=5), lost=15)})
    entries = [*ledger(10), lost]
    why = "the topic lost them before they were routed"
    assert messages(entries, range(25, 30)) == [f"lost: raw-0 @ 10 to 24: {why}"]
    assert messages(ledger(10), range(12, 30)) == [
        "missing: raw-0 @ 10 to 11: the topic lost them before they were routed"
    ]


def test_a_topic_that_went_back_or_lost_a_partition() -> None:
    assert messages(ledger(10), range(8)) == [
        "topic: raw-0 ends at 8, but was already read up to 10"
    ]
    found = judged("out", "raw", ledger(10), {})
    assert [one.message for one in found.findings] == ["topic: raw-0 no longer exists"]
    assert found.partitions[0].lag is None


def test_offsets_without_a_record_are_to_be_looked_up() -> None:
    stretch = LedgerStretch(10, 20, Counts(6, written=6), lost=2)
    entries = [*ledger(10), LedgerEntry(1, AT, {0: stretch})]
    assert stretches_with_absent(entries) == {0: [stretch]}
    assert by_partition(entries)[0][-1].end_exclusive == 20
    assert unread("raw", 0, stretch, 6) is None
    assert unread("raw", 0, stretch, 5) is None
    found = unread("raw", 0, stretch, 8)
    assert found is not None
    assert found.message == "missing: 2 of the 8 records in raw-0 @ 12 to 19"
