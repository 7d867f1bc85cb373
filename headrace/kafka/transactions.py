"""Transactions: what one producer sends between two commits is read as a whole, or not at all."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Final

from confluent_kafka import KafkaError, KafkaException, Producer

from headrace.errors import HeadraceError, Transient
from headrace.kafka.bulk import FLUSH_POLL_S, BulkProducer
from headrace.kafka.refusal import refusal
from headrace.kafka.settings import quiet

if TYPE_CHECKING:
    from collections.abc import Mapping

    from headrace.kafka.bulk import ProducerSettings, RefusedRecord

# A broker ends a transaction that stays open for longer; readers wait behind an open one so long.
OPEN_LIMIT_MS: Final = 300_000
ANSWER_LIMIT_S: Final = 60.0
ABORT_LIMIT_S: Final = 5.0
_FENCED: Final = frozenset(
    {
        KafkaError._FENCED,  # noqa: SLF001 - its public name
        KafkaError.INVALID_PRODUCER_EPOCH,
        KafkaError.PRODUCER_FENCED,
        KafkaError.INVALID_PRODUCER_ID_MAPPING,
    }
)
TO_DO_WITHOUT: Final = "or choose delivery: at_least_once, which needs no transactions"


class Fenced(Transient):
    """A producer whose transactional id somebody else has taken since."""

    def __init__(self) -> None:
        super().__init__(
            "another process has taken over the transactions of this one",
            "what this one had sent and not committed is read by nobody",
        )


class TransactionalProducer(BulkProducer):
    """A producer whose records are read when they are committed, and else never."""

    def __init__(self, settings: ProducerSettings, transactional_id: str) -> None:
        own: dict[str, str | int] = {
            "transactional.id": transactional_id,
            "transaction.timeout.ms": OPEN_LIMIT_MS,
        }
        super().__init__(settings, own)
        self.transactional_id = transactional_id
        self._is_open = False

    def init(self) -> None:
        """Take the transactional id: who had it before is fenced, and its open transaction aborted."""
        try:
            self._producer.init_transactions(ANSWER_LIMIT_S)
        except KafkaException as problem:
            raise failure(problem, self._settings) from None

    def begin(self) -> None:
        """Begin a transaction."""
        try:
            self._producer.begin_transaction()
        except KafkaException as problem:
            raise failure(problem, self._settings) from None
        self._is_open = True

    def flush(self) -> list[RefusedRecord]:
        """Wait until all has arrived; with refused records, nothing of the transaction counts."""
        while not self._refused and self._producer.flush(FLUSH_POLL_S):
            self.raise_failure()
        self.raise_failure()
        return self._refused

    def commit(self) -> None:
        """Make the transaction true: all of it, for all readers."""
        try:
            self._producer.commit_transaction(ANSWER_LIMIT_S)
        except KafkaException as problem:
            # Whether it is committed is not known: whoever goes on reads the ledger first.
            raise failure(problem, self._settings) from None
        self._is_open = False

    def abort(self) -> None:
        """Take the transaction back, as far as the cluster answers; else its next owner does."""
        if self._is_open:
            with contextlib.suppress(KafkaException):
                self._producer.abort_transaction(ABORT_LIMIT_S)


def fence(properties: Mapping[str, str], transactional_id: str) -> None:
    """Shut out whoever has a transactional id; an open transaction of theirs is aborted."""
    settings = dict(properties)
    producer = Producer({**quiet(settings), "transactional.id": transactional_id})
    try:
        producer.init_transactions(ANSWER_LIMIT_S)
    except KafkaException as problem:
        raise failure(problem, settings) from None


def failure(problem: KafkaException, settings: Mapping[str, str]) -> HeadraceError:
    """Return why a transaction did not go on."""
    error = problem.args[0]
    if error.code() in _FENCED:
        return Fenced()
    refused = refusal(error, settings)
    if refused is not None:
        if error.code() == KafkaError.TRANSACTIONAL_ID_AUTHORIZATION_FAILED:
            refused.advice += f"; {TO_DO_WITHOUT}"
        return refused
    return Transient(f"a transaction did not go on: {error.str()}", "its records are sent again")
