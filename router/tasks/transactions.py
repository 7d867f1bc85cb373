"""The transactional producers of a worker: made once for each claim, and known before they write.

A worker writes its producer's id into the ledger, takes the id, and only then looks whether the
claim still holds. So whoever claims next either finds the id and fences it, or is found here: a
worker that slept through a take-over writes nothing that anybody reads.
"""

from __future__ import annotations

import atexit
import uuid
from typing import TYPE_CHECKING

from headrace.kafka.log_topic import LogTopic
from headrace.kafka.transactions import Fenced, TransactionalProducer
from router.ledger.claims import later_owner, records_in

if TYPE_CHECKING:
    from headrace.kafka.bulk import ProducerSettings
    from router.ledger.claims import Claim


class Transactions:
    """Transactional producers of this process, kept between tasks; one that failed is let go."""

    def __init__(self) -> None:
        self._kept: dict[tuple[ProducerSettings, Claim], TransactionalProducer] = {}
        # OpenSSL's own end, in the client, stumbles over threads that still run by then.
        atexit.register(self._kept.clear)

    def get(self, settings: ProducerSettings, claim: Claim) -> TransactionalProducer:
        """Return the producer of these settings within a claim."""
        key = settings, claim
        if key not in self._kept:
            for old in [one for one in self._kept if _replaces(claim, one[1])]:
                del self._kept[old]
            self._kept[key] = _registered(settings, claim)
        return self._kept[key]

    def discard(self, settings: ProducerSettings, claim: Claim) -> None:
        """Take back what a producer that failed has sent, and forget it."""
        producer = self._kept.pop((settings, claim), None)
        if producer is not None:
            producer.abort()


def _replaces(claim: Claim, old: Claim) -> bool:
    same = claim.ledger == old.ledger and claim.session != old.session
    return same and not set(claim.members).isdisjoint(old.members)


def _registered(settings: ProducerSettings, claim: Claim) -> TransactionalProducer:
    log = LogTopic(dict(settings.properties), claim.ledger)
    try:
        transactional_id = claim.new_transactional_id(uuid.uuid4().hex)
        log.write([claim.registration(transactional_id)])
        producer = TransactionalProducer(settings, transactional_id)
        producer.init()
        if later_owner(records_in(log.read(claim.offset)), claim) is not None:
            raise Fenced
        return producer
    finally:
        log.close()
