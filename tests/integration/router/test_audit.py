"""`router audit` against a real topic, with ledgers written as the router writes them."""

from __future__ import annotations

import contextlib
import json
from typing import TYPE_CHECKING, Any

import pytest
from confluent_kafka import Producer

from headrace.kafka.cluster import KafkaCluster
from headrace.kafka.log_topic import LogTopic, ensure_log_topic
from router.ledger.entries import Counts, LedgerStretch
from router.ledger.places import Place, ReadTopic, now_text, place_key, place_value
from router.ledger.topic import ledger_topic
from tests.integration.pipelines import Pipelines, event
from tests.unit.router.workspaces import invoke

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


@pytest.fixture
def topic(unique: Callable[[str], str], pipelines: Pipelines) -> str:
    name = unique("audited")
    pipelines.make_topic(name)
    pipelines.send(name, map(event, range(20)))
    return name


def run(*stretches: LedgerStretch) -> list[Place]:
    """Return the places of partition 0 as a router gets there, batch by batch."""
    first = stretches[0].start
    places = [Place.beginning(now_text(), LedgerStretch(first, first, Counts()))]
    for batch, stretch in enumerate(stretches):
        places.append(places[-1].following(batch, now_text(), stretch))
    return places


def keep(pipelines: Pipelines, topic: str, places: Sequence[Place], name: str = "out") -> None:
    """Write places into the ledger of the stream, whatever it says."""
    kafka = KafkaCluster(pipelines.workspace.cluster("consumer"))
    read = ReadTopic("fronting", topic, kafka.topic_id(topic))
    ledger = ledger_topic(topic)
    ensure_log_topic(kafka, ledger)
    with contextlib.closing(LogTopic(kafka.properties, ledger)) as log:
        key = place_key(f"{name} > {topic}.{name}", read.topic_id, 0)
        log.write([(key, place_value(read, 0, place)) for place in places])


def damage(pipelines: Pipelines, topic: str, value: str) -> None:
    kafka = KafkaCluster(pipelines.workspace.cluster("consumer"))
    with contextlib.closing(LogTopic(kafka.properties, ledger_topic(topic))) as log:
        log.write([(place_key(f"out > {topic}.out", kafka.topic_id(topic), 0), value)])


def read(start: int, end: int, absent: int = 0) -> LedgerStretch:
    count = end - start - absent
    return LedgerStretch(start, end, Counts(count, written=count))


def audited(pipelines: Pipelines, topic: str) -> tuple[int, dict[str, Any]]:
    stream = pipelines.stream(topic, [{"name": "out"}])
    done = invoke("audit", stream, "-o", "json", workspace=pipelines.workspace.root)
    found = json.loads(done.stdout)
    assert found["ok"] == (done.return_value == 0)
    return done.return_value, found


def messages(pipelines: Pipelines, topic: str) -> list[str]:
    code, found = audited(pipelines, topic)
    all_of_them = [one["message"] for output in found["outputs"] for one in output["findings"]]
    assert code == (1 if all_of_them else 0)
    return all_of_them


def test_a_stream_that_never_ran_is_no_finding(pipelines: Pipelines, topic: str) -> None:
    code, found = audited(pipelines, topic)
    assert code == 0
    assert [one["has_run"] for one in found["outputs"]] == [False, False]


def test_the_prover_is_proven(pipelines: Pipelines, topic: str) -> None:
    sound = run(read(0, 10), read(10, 13), read(13, 18))
    keep(pipelines, topic, sound)
    code, found = audited(pipelines, topic)
    assert code == 0
    (partition,) = found["outputs"][0]["partitions"]
    assert (partition["began"], partition["done"], partition["lag"]) == (0, 18, 2)
    # Somebody who had no right to has written its last batch too.
    keep(pipelines, topic, sound[-1:])
    assert messages(pipelines, topic) == [f"twice: {topic}-0 @ 13 to 17"]
    damage(pipelines, topic, "{")
    (damaged,) = messages(pipelines, topic)
    assert "is damaged" in damaged


def test_offsets_that_no_batch_has_are_missing(pipelines: Pipelines, topic: str) -> None:
    hole = Place(2, now_text(), read(13, 18), (read(0, 10),))
    keep(pipelines, topic, [hole])
    assert messages(pipelines, topic) == [f"missing: {topic}-0 @ 10 to 12"]


def test_offsets_without_a_record_are_looked_up(pipelines: Pipelines, topic: str) -> None:
    bootstrap = pipelines.workspace.cluster("fronting").bootstrap_servers
    producer = Producer({"bootstrap.servers": bootstrap, "transactional.id": topic})
    producer.init_transactions()
    for _ in range(2):
        producer.begin_transaction()
        producer.produce(topic, event(1))
        producer.commit_transaction()
    # 20 records, then twice a record and the end of its transaction.
    keep(pipelines, topic, run(read(0, 20), read(20, 22, absent=1), read(22, 24, absent=1)))
    code, found = audited(pipelines, topic)
    assert (code, found["outputs"][0]["partitions"][0]["absent"]) == (0, 2)
    # Another output that has read less than there is.
    keep(pipelines, topic, run(read(0, 20, absent=3), read(20, 24, absent=2)), "former")
    assert messages(pipelines, topic) == [f"missing: 3 of the 20 records in {topic}-0 @ 0 to 19"]


def test_a_topic_made_anew_and_an_output_that_is_gone(pipelines: Pipelines, topic: str) -> None:
    keep(pipelines, topic, run(read(0, 20)), "former")
    code, found = audited(pipelines, topic)
    assert code == 0
    names = [one["output"] for one in found["outputs"]]
    assert names == ["out", "quarantine", f"former > {topic}.former"]
    assert found["outputs"][2]["notes"] == ["the stream's file no longer has this output"]
    KafkaCluster(pipelines.workspace.cluster("fronting")).delete_topic(topic)
    pipelines.make_topic(topic)
    assert messages(pipelines, topic) == [
        f"topic: {topic} was deleted and re-created since this output began"
    ]
