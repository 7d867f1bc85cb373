"""Who holds a stream's members, as the ledger's records say it.

A claim stands for the members of a stream from its record on, until a later claim of another process.
Whoever writes for a member has to find no later claim after it has fenced the ones before.
"""

from __future__ import annotations

import json
import os
import platform
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Final

from headrace.errors import Terminal
from router.ledger.places import key_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from headrace.kafka.message import Message

CLAIM: Final = "claim"
PRODUCER: Final = "producer"
ALIVE: Final = "alive"
# A process that has not been heard of for so long is taken for dead.
DEAD_AFTER_S: Final = 30.0


@dataclass(frozen=True, slots=True)
class Owner:
    """A process that holds members, or held them. Each beginning is a session of its own."""

    session: str
    host: str
    pid: int
    at: str

    @classmethod
    def this_process(cls, session: str, at: str) -> Owner:
        """Return this process."""
        return cls(session, platform.node(), os.getpid(), at)

    def __str__(self) -> str:
        return f"host {self.host}, pid {self.pid}, since {self.at}"


@dataclass(frozen=True, slots=True)
class Claim:
    """What a process holds in one ledger, from the offset of its claim on.

    It goes with the work of tasks: they write for these members, and for nobody else's.
    """

    ledger: str
    stream: str
    topic_id: str
    members: tuple[str, ...]
    session: str
    offset: int

    @property
    def keys(self) -> list[str]:
        """The keys of its records."""
        return [key_of(CLAIM, member, self.topic_id) for member in self.members]

    def new_transactional_id(self, unique: str) -> str:
        """Return an id for one of its producers; the access lists of a cluster go by its beginning."""
        return f"headrace.{self.stream}.{unique}"

    def registration(self, transactional_id: str) -> tuple[str, str]:
        """Return the record by which whoever comes next knows of a producer."""
        value = {"members": self.members, "topic_id": self.topic_id}
        return key_of(PRODUCER, transactional_id), json.dumps(value)


@dataclass(frozen=True, slots=True)
class LedgerRecord:
    """One record of a ledger: its key in parts, its value, where and when it was written."""

    key: tuple[str | int, ...]
    value: bytes | None
    offset: int
    at_ms: int

    @property
    def kind(self) -> str | int:
        """What kind of record it is."""
        return self.key[0] if self.key else ""


class TakenOver(Terminal):
    """Another process holds what this one held."""

    def __init__(self, stream: str, members: Sequence[str], owner: Owner) -> None:
        super().__init__(
            f"stream {stream}: another router has taken over {_outputs(members)} ({owner})",
            "this one has stopped: nothing of what it had not committed is read; run a stream on "
            "one host only, or set on_conflict: refuse",
        )


class HeldElsewhere(Terminal):
    """Another process holds what this one wants, and is not to be disturbed."""

    def __init__(self, stream: str, members: Sequence[str], owner: Owner, silent_s: float) -> None:
        super().__init__(
            f"stream {stream}: another router runs {_outputs(members)} ({owner}), and was heard of "
            f"{silent_s:.0f} s ago",
            f"stop that one first; if it was killed, try again {DEAD_AFTER_S:.0f} s after its end; "
            "or set on_conflict: take_over",
        )


def _outputs(members: Sequence[str]) -> str:
    """Return the names of members as their file has them: without their targets."""
    return ", ".join(member.partition(" > ")[0] for member in members)


def records_in(messages: Iterable[Message]) -> list[LedgerRecord]:
    """Return the records of a ledger; what has no key of ours is not one."""
    found = []
    for message in messages:
        try:
            key = json.loads(message.key() or b"")
        except ValueError:
            continue
        if isinstance(key, list):
            _, at_ms = message.timestamp()
            found.append(LedgerRecord(tuple(key), message.value(), message.offset(), at_ms))
    return found


def owners(
    records: Iterable[LedgerRecord], members: Iterable[str], topic_id: str
) -> dict[str, tuple[int, Owner]]:
    """Return who claimed each member last, and at which offset."""
    wanted: dict[tuple[str | int, ...], str] = {
        (CLAIM, member, topic_id): member for member in members
    }
    found: dict[str, tuple[int, Owner]] = {}
    for one in records:
        member = wanted.get(one.key)
        if member is not None and one.value is not None:
            found[member] = one.offset, Owner(**json.loads(one.value))
    return found


def later_owner(
    records: Iterable[LedgerRecord], claim: Claim, own: Iterable[str] = ()
) -> tuple[list[str], Owner] | None:
    """Return which members somebody else has claimed after this claim, and who; None where nobody."""
    ours = {claim.session, *own}
    lost = {
        member: owner
        for member, (offset, owner) in owners(records, claim.members, claim.topic_id).items()
        if offset > claim.offset and owner.session not in ours
    }
    return (sorted(lost), next(iter(lost.values()))) if lost else None


def claim_records(claim: Claim, owner: Owner) -> list[tuple[str, str]]:
    """Return the records that make a claim."""
    value = json.dumps(asdict(owner))
    return [(key, value) for key in claim.keys]


def registered(records: Iterable[LedgerRecord], claim: Claim) -> list[str]:
    """Return the transactional ids of all producers that write for members of a claim."""
    found: dict[str, bool] = {}
    for one in records:
        if one.kind == PRODUCER:
            fields = json.loads(one.value) if one.value else {"members": [], "topic_id": ""}
            shared = set(fields["members"]) & set(claim.members)
            found[str(one.key[1])] = bool(shared) and fields["topic_id"] == claim.topic_id
    return [name for name, is_theirs in found.items() if is_theirs]


def heard_of(records: Iterable[LedgerRecord]) -> Mapping[str, int]:
    """Return when each session that has not ended was heard of last, in the broker's milliseconds."""
    found: dict[str, int] = {}
    for one in records:
        if one.kind == ALIVE:
            session = str(one.key[1])
            if one.value is None:
                found.pop(session, None)
            else:
                found[session] = one.at_ms
    return found


def alive_record(session: str, *, is_alive: bool = True) -> tuple[str, str | None]:
    """Return the record that says that a session goes on, or that it has ended."""
    return key_of(ALIVE, session), "{}" if is_alive else None
