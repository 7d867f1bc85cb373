"""Who holds a stream's members, by the records of its ledger."""

from __future__ import annotations

import json
from dataclasses import asdict

from router.ledger.claims import (
    ALIVE,
    CLAIM,
    PRODUCER,
    Claim,
    LedgerRecord,
    Owner,
    alive_record,
    heard_of,
    later_owner,
    owners,
    registered,
)

HERE = Owner("s1", "here", 1, "2026-03-01T00:00:00.000Z")
THERE = Owner("s2", "there", 2, "2026-03-01T00:00:01.000Z")
OURS = Claim("headrace.s.ledger", "s", "id", ("a", "b"), "s1", 10)


def claimed(offset: int, member: str, owner: Owner, topic_id: str = "id") -> LedgerRecord:
    return LedgerRecord((CLAIM, member, topic_id), json.dumps(asdict(owner)).encode(), offset, 0)


def producer(name: str, members: list[str], topic_id: str = "id") -> LedgerRecord:
    value = json.dumps({"members": members, "topic_id": topic_id}).encode()
    return LedgerRecord((PRODUCER, name), value, 0, 0)


def test_a_claim_holds_until_somebody_else_claims_one_of_its_members() -> None:
    own = [claimed(10, "a", HERE), claimed(11, "b", HERE)]
    assert later_owner(own, OURS) is None
    before = [claimed(3, "a", THERE), *own]
    assert later_owner(before, OURS) is None
    others = [*own, claimed(12, "c", THERE), claimed(13, "a", THERE, "another topic's id")]
    assert later_owner(others, OURS) is None
    assert later_owner([*own, claimed(12, "b", THERE)], OURS) == (["b"], THERE)


def test_a_session_of_the_same_process_is_its_own_affair() -> None:
    records = [claimed(10, "a", HERE), claimed(12, "a", THERE)]
    assert later_owner(records, OURS, own=["s2"]) is None
    # Not for its tasks: what an earlier session has sent is done with.
    assert later_owner(records, OURS) == (["a"], THERE)


def test_the_last_claim_counts() -> None:
    records = [claimed(1, "a", HERE), claimed(2, "b", HERE), claimed(5, "a", THERE)]
    assert owners(records, ["a", "b", "c"], "id") == {"a": (5, THERE), "b": (2, HERE)}


def test_producers_are_known_by_the_members_that_they_write_for() -> None:
    records = [
        producer("one", ["a"]),
        producer("two", ["b", "c"]),
        producer("three", ["c"]),
        producer("of another topic", ["a"], "other"),
        producer("gone", ["a"]),
        LedgerRecord((PRODUCER, "gone"), None, 9, 0),
    ]
    assert registered(records, OURS) == ["one", "two"]


def test_who_has_ended_is_not_heard_of() -> None:
    records = [
        LedgerRecord((ALIVE, "s1"), b"{}", 1, 1_000),
        LedgerRecord((ALIVE, "s2"), b"{}", 2, 2_000),
        LedgerRecord((ALIVE, "s1"), b"{}", 3, 3_000),
        LedgerRecord((ALIVE, "s2"), None, 4, 4_000),
    ]
    assert heard_of(records) == {"s1": 3_000}
    assert alive_record("s1", is_alive=False)[1] is None
