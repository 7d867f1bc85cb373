"""A stream's ledger in Kafka: claimed, read, and written where no transaction does it.

Whoever begins claims its members, shuts out the producers of all who had them before, waits until
nothing of theirs is open any more, and then reads how far they are: after that nobody else changes it.
"""

from __future__ import annotations

import threading
import uuid
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Literal

import structlog

from headrace.errors import HeadraceError, Terminal
from headrace.kafka.log_clients import WRITE_LIMIT_S, LogClients
from headrace.kafka.log_topic import LogTopic, ensure_log_topic
from headrace.kafka.transactions import fence
from headrace.state_version import WrittenByNewer
from router.ledger.alive import reporter_of
from router.ledger.claims import (
    CLAIM,
    DEAD_AFTER_S,
    PRODUCER,
    Claim,
    HeldElsewhere,
    Owner,
    TakenOver,
    alive_record,
    claim_records,
    heard_of,
    later_owner,
    owners,
    records_in,
    registered,
)
from router.ledger.places import (
    PLACE,
    LedgerDamaged,
    ReadTopic,
    key_of,
    now_text,
    place_key,
    place_value,
    read_place,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from headrace.kafka.cluster import KafkaCluster
    from headrace.kafka.shared import SharedCluster
    from router.ledger.claims import LedgerRecord
    from router.ledger.places import Place

    OnConflict = Literal["take_over", "refuse"]

AT_ONCE: Final = 8
# Whoever ends does not wait for a cluster that is away.
AT_ITS_END_S: Final = 5.0
log = structlog.get_logger(__name__)


@dataclass(slots=True)
class MemberPlaces:
    """What a ledger says of one member in one topic: its place in each partition."""

    topic: ReadTopic
    places: dict[int, Place] = field(default_factory=dict)
    # All that is left of the batches before, for an audit.
    history: dict[int, list[Place]] = field(default_factory=dict)


def ledger_topic(stream: str) -> str:
    """Return the name of a stream's ledger topic."""
    return f"headrace.{stream}.ledger"


class LedgerTopic:
    """One stream's ledger on one cluster; its methods may be called by several threads.

    Of a cluster that is `shared`, its clients are used; else it has clients of its own.
    """

    def __init__(
        self, kafka: KafkaCluster, stream: str, shared: SharedCluster | None = None
    ) -> None:
        self.name = ledger_topic(stream)
        self._kafka = kafka
        self._stream = stream
        self._shared = shared
        self._clients = LogClients(kafka.properties) if shared is None else shared.logs
        self._log = LogTopic(kafka.properties, self.name, self._clients)
        # The claims that are known, how many of them a session was held against, and the next
        # offset to look for more.
        self._claims: list[LedgerRecord] = []
        self._held_against: dict[str, int] = {}
        self._next_watched = 0
        self._lock = threading.RLock()
        self._sessions: set[str] = set()
        self._reporter = reporter_of(self._clients)

    def read(self) -> list[LedgerRecord]:
        """Return what is committed now, whoever else is at work."""
        with self._lock:
            if self.name not in self._kafka.topics():
                return []
            return records_in(self._log.read(isolation="read_committed"))

    def newest(self, most: int) -> tuple[list[LedgerRecord], bool]:
        """Return the last records that are committed, so many offsets at most; whether there are more."""
        with self._lock:
            if self.name not in self._kafka.topics():
                return [], False
            (span,) = self._kafka.offsets(self.name).values()
            start = max(span.start, span.stop - most)
            return records_in(self._log.read(start, "read_committed")), start > span.start

    def claim(
        self,
        members: Collection[str],
        topic_id: str,
        on_conflict: OnConflict,
        before: Claim | None,
    ) -> tuple[Claim, list[LedgerRecord]]:
        """Take members, and return what is committed of the ledger; `before` is what was held.

        Raises TakenOver where somebody else has them by now, HeldElsewhere where they are not to be
        taken from whoever runs them.
        """
        with self._lock:
            ensure_log_topic(self._kafka, self.name)
            known = records_in(self._log.read())
            if before is not None:
                self._require_ours(known, before)
            elif on_conflict == "refuse":
                self._refuse_held(known, members, topic_id)
            claim = self._write_claim(members, topic_id)
            known += records_in(self._log.read(claim.offset))
            self._require_ours(known, claim)
            self._fence(registered(known, claim))
            if before is not None and before.session != claim.session:
                self._sessions.discard(before.session)
                self._held_against.pop(before.session, None)
                self._write([alive_record(before.session, is_alive=False)])
            messages, self._next_watched = self._log.settled()
            settled = records_in(messages)
            self._claims = [one for one in settled if one.kind == CLAIM]
            self._require_ours(self._claims, claim)
            self._held_against[claim.session] = len(self._claims)
            if self._shared is None:
                # A claim holds for months: until the next one these connections have nothing to do.
                self._clients.close()
            return claim, settled

    def require_ours(self, claim: Claim) -> None:
        """Raise TakenOver where somebody else has claimed a member since."""
        with self._lock:
            messages, self._next_watched = self._log.read_on(
                max(self._next_watched, claim.offset), "read_uncommitted"
            )
            self._claims += [one for one in records_in(messages) if one.kind == CLAIM]
            self._require_ours(self._claims, claim)
            self._held_against[claim.session] = len(self._claims)

    def is_ours(self, claim: Claim, end: int) -> bool:
        """Whether nobody else can have claimed a member since, if the topic ends there."""
        is_known = self._held_against.get(claim.session) == len(self._claims)
        return is_known and end <= self._next_watched

    def write(self, topic: ReadTopic, places: Mapping[str, Mapping[int, Place]]) -> None:
        """Write the places of members whose sinks have no transactions."""
        records: list[tuple[str, str | None]] = [
            (place_key(member, topic.topic_id, number), place_value(topic, number, place))
            for member, own in places.items()
            for number, place in own.items()
        ]
        with self._lock:
            self._write(records)

    def alive_records(self) -> list[tuple[str, str | None]]:
        """Return what says that the sessions go on; whoever is busy with the ledger says it later."""
        if not self._lock.acquire(blocking=False):
            return []
        try:
            return [alive_record(one) for one in self._sessions]
        finally:
            self._lock.release()

    def wrote(self, offsets: Sequence[int]) -> None:
        """Take in what was written: what nobody else has written between needs not be read again."""
        with self._lock:
            first = self._next_watched
            if sorted(offsets) == list(range(first, first + len(offsets))):
                self._next_watched += len(offsets)

    def close(self) -> None:
        """Say that this process has ended what it held, and let go of the connections."""
        self._reporter.remove(self)
        with self._lock:
            # Hundreds that end together do not wait, one after the other, for a cluster that is away.
            if self._sessions and not self._clients.is_silent:
                try:
                    ends = [alive_record(one, is_alive=False) for one in self._sessions]
                    self._write(ends, AT_ITS_END_S)
                except HeadraceError as problem:
                    log.warning("the end could not be written", reason=problem.message)
            if self._shared is None:
                self._clients.close()

    def _write(
        self, records: Sequence[tuple[str, str | None]], limit_s: float = WRITE_LIMIT_S
    ) -> list[int]:
        """Write records, and know of them."""
        offsets = self._log.write(records, limit_s)
        self.wrote(offsets)
        return offsets

    def _write_claim(self, members: Collection[str], topic_id: str) -> Claim:
        session = uuid.uuid4().hex
        names = tuple(sorted(members))
        claim = Claim(self.name, self._stream, topic_id, names, session, 0)
        owner = Owner.this_process(session, now_text())
        is_first = not self._sessions
        self._sessions.add(session)
        offsets = self._log.write([alive_record(session), *claim_records(claim, owner)])
        if is_first:
            self._reporter.add(self)
        return Claim(self.name, self._stream, topic_id, names, session, min(offsets))

    def _require_ours(self, known: Iterable[LedgerRecord], claim: Claim) -> None:
        later = later_owner(known, claim, self._sessions)
        if later is not None:
            raise TakenOver(self._stream, *later)

    def _refuse_held(
        self, known: Sequence[LedgerRecord], members: Collection[str], topic_id: str
    ) -> None:
        heard = heard_of(known)
        # The broker's clock, as all its records' times are.
        (offset,) = self._log.write([(key_of("time"), "{}")])
        now_ms = next(one.at_ms for one in records_in(self._log.read(offset)))
        held: dict[Owner, list[str]] = {}
        for member, (_, owner) in owners(known, members, topic_id).items():
            if owner.session not in self._sessions:
                held.setdefault(owner, []).append(member)
        for owner, names in held.items():
            silent_s = (now_ms - heard.get(owner.session, 0)) / 1000
            if silent_s < DEAD_AFTER_S:
                raise HeldElsewhere(self._stream, sorted(names), owner, max(silent_s, 0.0))

    def _fence(self, transactional_ids: Sequence[str]) -> None:
        if not transactional_ids:
            return
        with ThreadPoolExecutor(AT_ONCE) as pool:
            done = [pool.submit(fence, self._kafka.properties, one) for one in transactional_ids]
            for one in done:
                one.result()
        self._log.write([(key_of(PRODUCER, one), None) for one in transactional_ids])


def members_in(
    records: Iterable[LedgerRecord], damaged: dict[str, Terminal] | None = None
) -> dict[str, dict[str, MemberPlaces]]:
    """Return what a ledger says of each member, by the id of the topic that was read.

    Raises what keeps the last record of a partition from being read, or keeps that in
    `damaged` by member. A record before it is not missed: the last one stands for all.
    """
    found: dict[str, dict[str, MemberPlaces]] = {}
    unread: dict[tuple[str | int, ...], Terminal] = {}
    for one in records:
        if one.kind == PLACE and one.value is not None:
            _, member, topic_id, number = one.key
            unread.pop(one.key, None)
            try:
                topic, place = read_place(f"@ {one.offset}", one.value)
            except (LedgerDamaged, WrittenByNewer) as problem:
                unread[one.key] = problem
                continue
            own = found.setdefault(str(member), {})
            places = own.setdefault(str(topic_id), MemberPlaces(topic))
            places.places[int(number)] = place
            places.history.setdefault(int(number), []).append(place)
    for key, damage in unread.items():
        if damaged is None:
            raise damage
        damaged[str(key[1])] = damage
    return found
