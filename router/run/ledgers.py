"""The ledgers of a stream's members: a topic on each cluster that some of them write to."""

from __future__ import annotations

import threading
from dataclasses import replace
from typing import TYPE_CHECKING

from headrace.contract import QUARANTINE
from headrace.kafka.log_topic import PARTITION
from router.ledger.topic import LedgerTopic, members_in
from router.plan.model import ToTopic

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from headrace.errors import Terminal
    from router.ledger.claims import Claim
    from router.ledger.places import Place, ReadTopic
    from router.ledger.topic import MemberPlaces, OnConflict
    from router.plan.model import Outlet, RoutePlan, Target
    from router.plan.planner import Planner
    from router.run.member import Member


class Ledgers:
    """Finds, claims and writes them; jobs of several threads may share it."""

    def __init__(
        self, planner: Planner, plan: RoutePlan, on_conflict: OnConflict = "take_over"
    ) -> None:
        self._planner = planner
        self._plan = plan
        self._on_conflict = on_conflict
        self._topics: dict[str, LedgerTopic] = {}
        self._lock = threading.Lock()

    def on(self, cluster: str) -> LedgerTopic:
        """Return the ledger on a cluster."""
        # Two of them would be two sessions, and one of these would never end.
        with self._lock:
            if cluster not in self._topics:
                kafka, shared = self._planner.kafka(cluster), self._planner.shared(cluster)
                self._topics[cluster] = LedgerTopic(kafka, self._plan.stream, shared)
            return self._topics[cluster]

    def read(self, names: Iterable[str]) -> dict[str, Mapping[str, MemberPlaces]]:
        """Return what ledgers say of members, by the topic's id; nobody is held up."""
        found: dict[str, Mapping[str, MemberPlaces]] = {}
        for cluster, own in self.by_cluster(names).items():
            known = members_in(self.on(cluster).read())
            found |= {name: known.get(self._plan.held_as(name), {}) for name in own}
        return found

    def read_all(
        self, names: Iterable[str], damaged: dict[str, Terminal]
    ) -> dict[str, dict[str, MemberPlaces]]:
        """Return the same of all members that there were ever, on the clusters of some.

        What is no member now, or had another target, is named with its target.
        """
        found: dict[str, dict[str, MemberPlaces]] = {}
        unread: dict[str, Terminal] = {}
        now: dict[str, str] = {}
        for cluster, own in self.by_cluster(names).items():
            found |= members_in(self.on(cluster).read(), unread)
            now |= {self._plan.held_as(name): name for name in own}
        damaged |= {now.get(name, name): one for name, one in unread.items()}
        return {now.get(name, name): one for name, one in found.items()}

    def begin(
        self, members: Mapping[str, Member], topic: ReadTopic, before: Mapping[str, Claim]
    ) -> dict[str, Claim]:
        """Take members from whoever has them, and let them know where they are.

        Returns the claims by cluster; `before` is what it returned the last time.
        """
        claims: dict[str, Claim] = {}
        for cluster, own in self.by_cluster(members).items():
            held_as = {name: self._plan.held_as(name) for name in own}
            claims[cluster], records = self.on(cluster).claim(
                held_as.values(), topic.topic_id, self._on_conflict, before.get(cluster)
            )
            known = members_in(records)
            for name in own:
                members[name].load(known.get(held_as[name], {}), topic)
        return claims

    def require_ours(self, claims: Mapping[str, Claim]) -> None:
        """Raise TakenOver where somebody else has claimed a member since."""
        for cluster, claim in claims.items():
            self.on(cluster).require_ours(claim)

    def are_ours(self, claims: Mapping[str, Claim], since_s: float) -> bool | None:
        """Whether nobody can have claimed a member; None where that is not known yet.

        Raises Unanswered where a cluster did not say.
        """
        found: bool | None = True
        for cluster, claim in claims.items():
            shared = self._planner.shared(cluster)
            if shared is None:
                return False
            ends = shared.watch.next_offsets(claim.ledger, since_s)
            if ends is None:
                found = None
            elif not self.on(cluster).is_ours(claim, ends.get(PARTITION, 0)):
                return False
        return found

    def write(self, topic: ReadTopic, places: Mapping[str, Mapping[int, Place]]) -> None:
        """Write places that no transaction has written."""
        for cluster, names in self.by_cluster(name for name, own in places.items() if own).items():
            own = {self._plan.held_as(name): places[name] for name in names}
            self.on(cluster).write(topic, own)

    def is_transactional(self, name: str) -> bool:
        """Whether a member's places are written in the transactions of its records."""
        target = self._target(name)
        return isinstance(target, ToTopic) and target.is_exactly_once

    def claimed(self, plan: RoutePlan, claims: Mapping[str, Claim]) -> RoutePlan:
        """Return the plan with what its tasks need to write in transactions."""

        def outlet(one: Outlet) -> Outlet:
            return replace(one, target=_claimed(one.target, claims))

        quarantine = plan.quarantine
        if quarantine is not None:
            quarantine = _claimed_topic(quarantine, claims)
        return replace(plan, quarantine=quarantine, outlets=tuple(map(outlet, plan.outlets)))

    def close(self) -> None:
        """Let go of all that is held."""
        for topic in self._topics.values():
            topic.close()

    def by_cluster(self, names: Iterable[str]) -> dict[str, list[str]]:
        """Return members by the cluster that has their ledger."""
        found: dict[str, list[str]] = {}
        for name in names:
            found.setdefault(self._cluster(name), []).append(name)
        return found

    def _cluster(self, name: str) -> str:
        """Return where a member's ledger is: beside its records, where these go to a topic."""
        target = self._target(name)
        if isinstance(target, ToTopic):
            return target.cluster
        quarantine = self._plan.quarantine
        return self._plan.source.cluster if quarantine is None else quarantine.cluster

    def _target(self, name: str) -> Target | None:
        if name == QUARANTINE:
            return self._plan.quarantine
        return next((one.target for one in self._plan.outlets if one.name == name), None)


def _claimed(target: Target, claims: Mapping[str, Claim]) -> Target:
    return _claimed_topic(target, claims) if isinstance(target, ToTopic) else target


def _claimed_topic(target: ToTopic, claims: Mapping[str, Claim]) -> ToTopic:
    if not target.is_exactly_once or target.cluster not in claims:
        return target
    return replace(target, claim=claims[target.cluster])
