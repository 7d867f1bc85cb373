"""The transactional producers of a worker: made once for each claim, and known before they write.

A worker writes its producer's id into the ledger, takes the id, and only then looks whether the
claim still holds. So whoever claims next either finds the id and fences it, or is found here: a
worker that slept through a take-over writes nothing that anybody reads.
"""

from __future__ import annotations

import atexit
import threading
import uuid
from typing import TYPE_CHECKING, Final

from headrace.kafka.log_clients import LogClients
from headrace.kafka.log_topic import LogTopic
from headrace.kafka.transactions import Fenced, TransactionalProducer
from router.ledger.claims import later_owner, records_in

if TYPE_CHECKING:
    from headrace.kafka.bulk import ProducerSettings
    from router.ledger.claims import Claim

_clients: Final[dict[tuple[tuple[str, str], ...], LogClients]] = {}
_lock: Final = threading.Lock()
# OpenSSL's own end, in the client, stumbles over threads that still run by then.
atexit.register(_clients.clear)


class Transactions:
    """Transactional producers of this process, kept between tasks; one that failed is let go."""

    def __init__(self) -> None:
        self._kept: dict[tuple[ProducerSettings, Claim], TransactionalProducer] = {}
        self._lock = threading.Lock()
        # OpenSSL's own end, in the client, stumbles over threads that still run by then.
        atexit.register(self._kept.clear)

    def get(self, settings: ProducerSettings, claim: Claim) -> TransactionalProducer:
        """Return the producer of these settings within a claim."""
        key = settings, claim
        with self._lock:
            known = self._kept.get(key)
            if known is not None:
                return known
            gone = [one for one in self._kept if _replaces(claim, one[1])]
            replaced = [self._kept.pop(one) for one in gone]
        # To let go of a producer, and to register one, take a moment: the work of others goes on.
        del replaced
        made = _registered(settings, claim)
        with self._lock:
            self._kept[key] = made
        return made

    def discard(self, settings: ProducerSettings, claim: Claim) -> None:
        """Take back what a producer that failed has sent, and forget it."""
        with self._lock:
            producer = self._kept.pop((settings, claim), None)
        if producer is not None:
            producer.abort()


def _replaces(claim: Claim, old: Claim) -> bool:
    same = claim.ledger == old.ledger and claim.session != old.session
    return same and not set(claim.members).isdisjoint(old.members)


def _registered(settings: ProducerSettings, claim: Claim) -> TransactionalProducer:
    properties = dict(settings.properties)
    log = LogTopic(properties, claim.ledger, _clients_of(properties))
    transactional_id = claim.new_transactional_id(uuid.uuid4().hex)
    log.write([claim.registration(transactional_id)])
    producer = TransactionalProducer(settings, transactional_id)
    producer.init()
    if later_owner(records_in(log.read(claim.offset)), claim) is not None:
        raise Fenced
    return producer


def _clients_of(properties: dict[str, str]) -> LogClients:
    """Return this worker's clients for the ledgers of a cluster."""
    with _lock:
        return _clients.setdefault(tuple(sorted(properties.items())), LogClients(properties))
