"""Two hosts, zombies and slow workers, against a real broker: who has lost a claim writes nothing."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

import pytest

from headrace.embedded.process import wait_until
from headrace.kafka.bulk import producer_settings
from headrace.kafka.cluster import KafkaCluster
from headrace.kafka.log_topic import LogTopic
from headrace.kafka.transactions import Fenced
from router.ledger import claims
from router.ledger.claims import HeldElsewhere, TakenOver
from router.ledger.topic import LedgerTopic, ledger_topic
from router.tasks.transactions import Transactions
from tests.limits import LIMIT_S

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from headrace.kafka.bulk import ProducerSettings
    from router.ledger.claims import Claim
    from tests.integration.pipelines import Pipelines

ID = "an id"


@pytest.fixture
def kafka(pipelines: Pipelines) -> KafkaCluster:
    return KafkaCluster(pipelines.workspace.cluster("consumer"))


@pytest.fixture
def stream(unique: Callable[[str], str]) -> str:
    return unique("claimed")


@pytest.fixture
def hosts(kafka: KafkaCluster, stream: str) -> Iterator[tuple[LedgerTopic, LedgerTopic]]:
    """Two processes of the same stream."""
    with (
        contextlib.closing(LedgerTopic(kafka, stream)) as one,
        contextlib.closing(LedgerTopic(kafka, stream)) as other,
    ):
        yield one, other


@pytest.fixture
def settings(kafka: KafkaCluster, stream: str) -> ProducerSettings:
    return producer_settings(kafka, f"{stream}.out", "lz4")


def claim(host: LedgerTopic, *members: str, before: Claim | None = None) -> Claim:
    return host.claim(members or ("out",), ID, "take_over", before)[0]


def values(kafka: KafkaCluster, topic: str) -> list[bytes | None]:
    return [one.value() for one in kafka.records(topic)]


def test_what_a_zombie_has_sent_is_read_by_nobody(
    kafka: KafkaCluster,
    stream: str,
    hosts: tuple[LedgerTopic, LedgerTopic],
    settings: ProducerSettings,
) -> None:
    first, second = hosts
    zombies, workers = Transactions(), Transactions()
    zombie = zombies.get(settings, claim(first))
    zombie.begin()
    zombie.produce_patiently(f"{stream}.out", b"by the zombie", None, ())
    assert zombie.flush() == []
    held = claim(second)
    # Aborted already: nobody waits for it.
    assert values(kafka, f"{stream}.out") == []
    worker = workers.get(settings, held)
    worker.begin()
    worker.produce_patiently(f"{stream}.out", b"by the worker", None, ())
    worker.flush()
    worker.commit()
    with pytest.raises(Fenced):
        zombie.commit()
    # A committed transaction can be read a moment later: its marks are still on their way.
    assert wait_until(lambda: values(kafka, f"{stream}.out") != [], LIMIT_S)
    assert values(kafka, f"{stream}.out") == [b"by the worker"]


def test_a_worker_that_slept_through_a_take_over_does_not_begin(
    hosts: tuple[LedgerTopic, LedgerTopic], settings: ProducerSettings
) -> None:
    first, second = hosts
    old = claim(first)
    new = claim(second)
    with pytest.raises(Fenced):
        Transactions().get(settings, old)
    Transactions().get(settings, new).begin()


def test_the_loser_is_told_who_won(hosts: tuple[LedgerTopic, LedgerTopic], stream: str) -> None:
    first, second = hosts
    held = claim(first, "out", "other")
    first.require_ours(held)
    taken = claim(second, "out")
    with pytest.raises(
        TakenOver, match=rf"stream {stream}: another router has taken over out \(host"
    ):
        first.require_ours(held)
    with pytest.raises(TakenOver, match="pid"):
        claim(first, "out", "other", before=held)
    second.require_ours(taken)
    # Members that nobody else runs are no reason to end.
    first.require_ours(claim(first, "other"))
    second.require_ours(taken)


def test_a_process_that_begins_again_takes_over_from_itself(
    stream: str, hosts: tuple[LedgerTopic, LedgerTopic], settings: ProducerSettings
) -> None:
    host, _ = hosts
    held = claim(host)
    worker = Transactions()
    producer = worker.get(settings, held)
    producer.begin()
    producer.produce_patiently(f"{stream}.out", b"before", None, ())
    again = claim(host, before=held)
    with pytest.raises(Fenced):
        producer.commit()
    assert worker.get(settings, again) is not producer


def test_who_runs_is_left_alone_if_it_is_to_be(
    hosts: tuple[LedgerTopic, LedgerTopic], monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = hosts
    held = claim(first)
    with pytest.raises(HeldElsewhere, match="was heard of"):
        second.claim(["out"], ID, "refuse", None)
    first.require_ours(held)
    # Another topic of the same name is another stream's business.
    second.claim(["out"], "another id", "refuse", None)
    # One that has ended is not waited for, one that is silent not for ever.
    first.close()
    second.claim(["out"], ID, "refuse", None)
    third = LedgerTopic(second._kafka, second._stream)  # noqa: SLF001 - a third host
    with contextlib.closing(third):
        with pytest.raises(HeldElsewhere):
            third.claim(["out"], ID, "refuse", None)
        monkeypatch.setattr("router.ledger.topic.DEAD_AFTER_S", -1.0)
        third.claim(["out"], ID, "refuse", None)


def test_no_producer_stays_known_after_it_was_fenced(
    kafka: KafkaCluster,
    stream: str,
    hosts: tuple[LedgerTopic, LedgerTopic],
    settings: ProducerSettings,
) -> None:
    first, second = hosts
    for _ in range(3):
        Transactions().get(settings, claim(first))
    last = claim(second)
    with contextlib.closing(LogTopic(kafka.properties, ledger_topic(stream))) as log:
        assert claims.registered(claims.records_in(log.read()), last) == []
