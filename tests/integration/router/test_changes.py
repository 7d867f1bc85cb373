"""What happens to a stream from outside: its topic, its state and its file change under it."""

from __future__ import annotations

import contextlib
import json
import shutil
import threading
from typing import TYPE_CHECKING

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from headrace.embedded.process import wait_until
from headrace.errors import Terminal, TopicMissing
from headrace.kafka.cluster import KafkaCluster
from headrace.kafka.log_topic import LogTopic
from headrace.kafka.sender import KafkaRecord
from headrace.kafka.source_topic import OffsetsGone, TopicRecreated
from router.ledger.entries import Counts
from router.ledger.places import place_key
from router.ledger.topic import ledger_topic
from router.run import job
from tests.integration.pipelines import Pipelines, event
from tests.integration.router.live_router import (
    add_partitions,
    delete_before,
    ledger_of,
    live,
    places_of,
    state_of,
    stretch_of,
)
from tests.limits import LIMIT_S

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pyspark.sql import SparkSession

    from headrace.line.job import Batch


OUT = {"name": "out"}


@pytest.fixture
def topic(unique: Callable[[str], str], pipelines: Pipelines) -> str:
    name = unique("changing")
    pipelines.make_topic(name)
    return name


def ids(pipelines: Pipelines, topic: str, name: str = "out") -> list[int]:
    return sorted(json.loads(one.value or b"")["id"] for one in pipelines.seen(f"{topic}.{name}"))


def source(topic: str, **more: object) -> dict[str, object]:
    whole = {"type": "kafka", "cluster": "fronting", "topic": topic, "format": "json"}
    return {**whole, "schema": "schemas/event.avsc", **more}


def made_anew(pipelines: Pipelines, topic: str, partitions: int = 1) -> None:
    kafka = KafkaCluster(pipelines.workspace.cluster("fronting"))
    kafka.delete_topic(topic)
    assert wait_until(lambda: topic not in kafka.topics(), LIMIT_S)
    pipelines.make_topic(topic, partitions)


# Retention.


def test_records_that_went_while_it_was_stopped_are_told_exactly(
    spark: SparkSession, pipelines: Pipelines, topic: str
) -> None:
    pipelines.send(topic, map(event, range(100)))
    path = pipelines.stream(topic, [OUT])
    pipelines.route(spark, path)
    pipelines.send(topic, map(event, range(100, 150)))
    delete_before(pipelines, topic, 120)
    with pytest.raises(OffsetsGone, match=rf"{topic}-0 @ 100 to 119 \(20 records\)"):
        pipelines.route(spark, path)
    assert places_of(pipelines, topic) == {0: 100}
    skipping = pipelines.stream(topic, [OUT], source=source(topic, on_data_loss="skip"))
    assert pipelines.route(spark, skipping)["out"] == Counts(30, written=30)
    assert stretch_of(pipelines, topic).lost == 20
    assert stretch_of(pipelines, topic, "quarantine").lost == 20
    assert ids(pipelines, topic) == [*range(100), *range(120, 150)]
    # All that was left is gone, and nothing has come since.
    pipelines.send(topic, map(event, range(150, 160)))
    delete_before(pipelines, topic, 160)
    path = pipelines.stream(topic, [OUT])
    with pytest.raises(OffsetsGone, match=rf"{topic}-0 @ 150 to 159 \(10 records\)"):
        pipelines.route(spark, path)


def test_records_that_go_while_it_runs(
    spark: SparkSession, pipelines: Pipelines, topic: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    between_looks, look = threading.Lock(), job.RouterJob.next_batch

    def one_at_a_time(looking: job.RouterJob) -> Batch | None:
        with between_looks:
            return look(looking)

    monkeypatch.setattr(job.RouterJob, "next_batch", one_at_a_time)
    pipelines.send(topic, map(event, range(10)))
    path = pipelines.stream(topic, [OUT])
    with live(pipelines, spark, path) as running:
        assert wait_until(lambda: places_of(pipelines, topic) == {0: 10}, LIMIT_S)
        with between_looks:
            pipelines.send(topic, map(event, range(10, 20)))
            delete_before(pipelines, topic, 15)
        with pytest.raises(OffsetsGone, match=rf"{topic}-0 @ 10 to 14 \(5 records\)"):
            running.end()
    skipping = source(topic, on_data_loss="skip")
    path = pipelines.stream(topic, [OUT], source=skipping)
    with live(pipelines, spark, path):
        assert wait_until(lambda: places_of(pipelines, topic) == {0: 20}, LIMIT_S)
        with between_looks:
            pipelines.send(topic, map(event, range(20, 30)))
            delete_before(pipelines, topic, 25)
        assert wait_until(lambda: places_of(pipelines, topic) == {0: 30}, LIMIT_S)
    assert stretch_of(pipelines, topic).lost == 10
    assert ids(pipelines, topic) == [*range(10), *range(15, 20), *range(25, 30)]


# The topic itself.


def test_a_topic_that_was_made_anew_while_it_was_stopped(
    spark: SparkSession, pipelines: Pipelines, topic: str
) -> None:
    pipelines.send(topic, map(event, range(10)))
    path = pipelines.stream(topic, [OUT])
    pipelines.route(spark, path)
    made_anew(pipelines, topic)
    pipelines.send(topic, map(event, range(20)))
    with pytest.raises(TopicRecreated, match=f"topic {topic} was deleted and re-created"):
        pipelines.route(spark, path)
    assert ids(pipelines, topic) == list(range(10))
    # Only one of them is told to begin again: the other one is still refused.
    with pytest.raises(TopicRecreated, match="router start --begin-again quarantine"):
        pipelines.route(spark, path, begin_again=["out"])
    both = ["out", "quarantine"]
    assert pipelines.route(spark, path, begin_again=both)["out"] == Counts(20, written=20)
    assert pipelines.route(spark, path)["out"] == Counts()


@pytest.mark.parametrize("after", [3, *(pytest.param(n, marks=pytest.mark.long) for n in (10, 20))])
def test_a_topic_that_is_made_anew_while_it_runs(
    spark: SparkSession, pipelines: Pipelines, topic: str, after: int
) -> None:
    pipelines.send(topic, map(event, range(10)))
    path = pipelines.stream(topic, [OUT])
    with live(pipelines, spark, path) as running:
        assert wait_until(lambda: places_of(pipelines, topic) == {0: 10}, LIMIT_S)
        made_anew(pipelines, topic)
        pipelines.send(topic, map(event, range(100, 100 + after)))
        if after == 10:
            # Exactly as many: nothing is new to Spark before there is one more.
            pipelines.send(topic, [event(99)])
        with pytest.raises(
            Terminal, match=f"topic {topic} was deleted and re-created|has no topic"
        ):
            running.end()
    assert ids(pipelines, topic) == list(range(10))


def test_a_topic_that_is_deleted_while_it_runs(
    spark: SparkSession, pipelines: Pipelines, topic: str
) -> None:
    pipelines.send(topic, map(event, range(10)))
    path = pipelines.stream(topic, [OUT])
    with live(pipelines, spark, path) as running:
        assert wait_until(lambda: places_of(pipelines, topic) == {0: 10}, LIMIT_S)
        KafkaCluster(pipelines.workspace.cluster("fronting")).delete_topic(topic)
        with pytest.raises(TopicMissing, match=f"cluster fronting has no topic {topic}"):
            running.end()


def test_partitions_that_are_added_while_it_runs_are_read_from_their_first_record(
    spark: SparkSession, pipelines: Pipelines, topic: str
) -> None:
    pipelines.send(topic, map(event, range(10)))
    path = pipelines.stream(topic, [OUT], source=source(topic, starting_offsets="latest"))
    with live(pipelines, spark, path):
        assert wait_until(lambda: places_of(pipelines, topic) == {0: 10}, LIMIT_S)
        add_partitions(pipelines, topic, 3)
        records = [KafkaRecord(event(n), partition=n % 3) for n in range(10, 40)]
        assert wait_until(lambda: sent(pipelines, topic, records), LIMIT_S)
        wanted = {0: 20, 1: 10, 2: 10}
        assert wait_until(lambda: places_of(pipelines, topic) == wanted, LIMIT_S)
    assert ids(pipelines, topic) == list(range(10, 40))
    # Another comes while it is stopped, and loses its first records before it is read.
    add_partitions(pipelines, topic, 4)
    records = [KafkaRecord(event(n), partition=3) for n in range(40, 50)]
    assert wait_until(lambda: sent(pipelines, topic, records), LIMIT_S)
    delete_before(pipelines, topic, 4, partition=3)
    with pytest.raises(OffsetsGone, match=rf"{topic}-3 @ 0 to 3 \(4 records\)"):
        pipelines.route(spark, path)


def sent(pipelines: Pipelines, topic: str, records: list[KafkaRecord]) -> bool:
    """Send records once the brokers know the partitions."""
    highest = max(one.partition for one in records)
    known = KafkaCluster(pipelines.workspace.cluster("fronting")).topics()[topic]
    return known > highest and pipelines.send(topic, records) == len(records)


# Its state.


def test_a_checkpoint_has_no_say(
    spark: SparkSession, pipelines: Pipelines, topic: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Older, newer, damaged or gone: the ledger knows the position, and nothing is lost or twice."""
    path = pipelines.stream(topic, [OUT], hygiene={"on_bad_record": "drop"})
    state = state_of(pipelines, topic)
    checkpoint = state.checkpoint("out")
    pipelines.send(topic, map(event, range(10)))
    pipelines.route(spark, path)
    old = checkpoint.with_name("old")
    shutil.copytree(checkpoint, old)
    monkeypatch.setattr(job, "MOST_PER_BATCH", 15)
    pipelines.send(topic, map(event, range(10, 40)))
    assert pipelines.route(spark, path)["out"] == Counts(30, written=30)
    # Older than the ledger.
    shutil.rmtree(checkpoint)
    shutil.copytree(old, checkpoint)
    pipelines.send(topic, map(event, range(40, 50)))
    assert pipelines.route(spark, path)["out"] == Counts(10, written=10)
    # Damaged.
    for file in (checkpoint / "offsets").iterdir():
        file.write_text("v1\n{")
    pipelines.send(topic, map(event, range(50, 60)))
    assert pipelines.route(spark, path)["out"] == Counts(10, written=10)
    # None at all.
    shutil.rmtree(checkpoint)
    pipelines.send(topic, map(event, range(60, 70)))
    assert pipelines.route(spark, path)["out"] == Counts(10, written=10)
    assert ids(pipelines, topic) == list(range(70))
    # The whole disk.
    shutil.rmtree(state.root)
    pipelines.send(topic, map(event, range(70, 80)))
    assert pipelines.route(spark, path)["out"] == Counts(10, written=10)
    assert ids(pipelines, topic) == list(range(80))


def test_a_damaged_ledger_is_never_taken_for_a_new_one(
    spark: SparkSession, pipelines: Pipelines, topic: str
) -> None:
    path = pipelines.stream(topic, [OUT], source=source(topic, starting_offsets="latest"))
    pipelines.route(spark, path)
    pipelines.send(topic, map(event, range(10)))
    pipelines.route(spark, path)
    kafka = KafkaCluster(pipelines.workspace.cluster("consumer"))
    key = place_key(f"out > {topic}.out", kafka.topic_id(topic), 0)
    with contextlib.closing(LogTopic(kafka.properties, ledger_topic(topic))) as log:
        last = [one for one in log.read() if one.key() == key.encode()][-1].value() or b""
        pipelines.send(topic, map(event, range(10, 15)))
        for damaged in ("", "{", "{}"):
            log.write([(key, damaged)])
            with pytest.raises(Terminal, match=r"the ledger's record @ \d+ is damaged"):
                pipelines.route(spark, path)
        log.write([(key, last.decode())])
    assert pipelines.route(spark, path)["out"] == Counts(5, written=5)
    assert ids(pipelines, topic) == list(range(15))


# Its file.


@pytest.mark.parametrize("isolation", ["stream", pytest.param("output", marks=pytest.mark.long)])
def test_an_output_that_is_added_begins_where_it_is_told_and_nobody_else_notices(
    spark: SparkSession, pipelines: Pipelines, topic: str, isolation: str
) -> None:
    def stream(*outputs: dict[str, object]) -> Path:
        return pipelines.stream(topic, outputs, isolation=isolation)

    first: dict[str, object] = {"name": "first"}
    pipelines.send(topic, map(event, range(20)))
    assert pipelines.route(spark, stream(first))["first"].written == 20
    late: dict[str, object] = {"name": "late", "starting_offsets": "latest"}
    early: dict[str, object] = {"name": "early", "filter": "id % 2 = 0"}
    counts = pipelines.route(spark, stream(first, late, early))
    assert {name: one.read for name, one in counts.items()} == {
        "first": 0,
        "late": 0,
        "early": 20,
        "quarantine": 0,
    }
    pipelines.send(topic, map(event, range(20, 30)))
    # Another filter keeps the place.
    early = {**early, "filter": "id % 2 = 1"}
    counts = pipelines.route(spark, stream(first, late, early))
    assert {name: one.written for name, one in counts.items()} == {
        "first": 10,
        "late": 10,
        "early": 5,
        "quarantine": 0,
    }
    # One less, and back again: it goes on where it was.
    pipelines.send(topic, map(event, range(30, 35)))
    assert pipelines.route(spark, stream(late, early))["late"].written == 5
    pipelines.send(topic, map(event, range(35, 40)))
    counts = pipelines.route(spark, stream(first, late, early))
    assert (counts["first"].written, counts["late"].written) == (10, 5)
    assert ids(pipelines, topic, "first") == list(range(40))
    assert ids(pipelines, topic, "late") == list(range(20, 40))
    assert ids(pipelines, topic, "early") == sorted([*range(0, 20, 2), *range(21, 40, 2)])


def test_another_source_topic_is_refused_with_what_to_do(
    spark: SparkSession, pipelines: Pipelines, topic: str, unique: Callable[[str], str]
) -> None:
    pipelines.send(topic, map(event, range(5)))
    path = pipelines.stream(topic, [OUT])
    pipelines.route(spark, path)
    other = unique("other")
    pipelines.make_topic(other)
    moved = pipelines.stream(topic, [OUT], source=source(other))
    with pytest.raises(Terminal, match=f"has its position in topic {topic}") as told:
        pipelines.route(spark, moved)
    assert "give the output another name" in told.value.advice


def test_a_position_is_of_an_output_in_its_target(
    spark: SparkSession, pipelines: Pipelines, topic: str, unique: Callable[[str], str]
) -> None:
    """Whoever uses the names of an earlier stream on one cluster is not told to be where it was."""
    pipelines.send(topic, [*map(event, range(5)), b"bad"])
    kept = {"quarantine": {"cluster": "consumer", "topic": unique("kept")}}
    path = pipelines.stream(topic, [OUT], hygiene=kept)
    assert pipelines.route(spark, path)["out"] == Counts(6, written=5, quarantined=1)
    elsewhere = {**OUT, "sink": {"topic": f"{topic}.elsewhere"}}
    moved = pipelines.stream(topic, [elsewhere], hygiene=kept)
    assert pipelines.route(spark, moved)["out"] == Counts(6, written=5, quarantined=1)
    assert ids(pipelines, topic, "elsewhere") == list(range(5))
    # Another topic altogether, into the same quarantine.
    other = unique("other")
    pipelines.make_topic(other)
    pipelines.send(other, [*map(event, range(3)), b"bad"])
    new = {**OUT, "sink": {"topic": f"{other}.out"}}
    path = pipelines.stream(topic, [new], source=source(other), hygiene=kept)
    counts = pipelines.route(spark, path)
    assert counts["out"] == Counts(4, written=3, quarantined=1)
    assert counts["quarantine"] == Counts(4, filtered=3, quarantined=1)
    # Each goes on where it was.
    pipelines.send(topic, [event(5)])
    assert pipelines.route(spark, pipelines.stream(topic, [OUT], hygiene=kept))["out"].read == 1


# The lag.


def test_the_lag_is_the_ledgers(spark: SparkSession, pipelines: Pipelines, topic: str) -> None:
    pipelines.send(topic, [*map(event, range(20)), b"bad"])
    path = pipelines.stream(topic, [OUT, {"name": "other"}])
    pipelines.route(spark, path, ["other"])
    pipelines.send(topic, map(event, range(20, 30)))
    pipelines.route(spark, path, ["out"])
    for name in ("out", "other", "quarantine"):
        group = {"group.id": f"headrace.{topic}.{name}"}
        cluster = pipelines.workspace.cluster("fronting").client_properties()
        consumer = Consumer({**cluster, **group})
        (place,) = consumer.committed([TopicPartition(topic, 0)], timeout=LIMIT_S)
        consumer.close()
        assert {0: place.offset} == places_of(pipelines, topic, name), name


# Offsets without records.


def transactional(pipelines: Pipelines, topic: str) -> Producer:
    cluster = pipelines.workspace.cluster("fronting").client_properties()
    producer = Producer({**cluster, "transactional.id": topic})
    producer.init_transactions(LIMIT_S)
    return producer


def test_transactions_leave_holes_that_are_accounted_for(
    spark: SparkSession, pipelines: Pipelines, topic: str
) -> None:
    producer = transactional(pipelines, topic)
    for part in range(5):
        producer.begin_transaction()
        for number in range(part * 10, part * 10 + 10):
            producer.produce(topic, event(number))
        # The last is given up, so that the partition ends in a hole.
        if part in {1, 4}:
            producer.flush()
            producer.abort_transaction(LIMIT_S)
        else:
            producer.commit_transaction(LIMIT_S)
    path = pipelines.stream(topic, [OUT])
    assert pipelines.route(spark, path)["out"] == Counts(30, written=30)
    done = stretch_of(pipelines, topic)
    # Two that were given up, and a mark at the end of each.
    assert (done.start, done.end_exclusive, done.absent, done.lost) == (0, 55, 25, 0)
    assert pipelines.route(spark, path)["out"] == Counts()
    # One that is under way: what is behind it waits, for an output that begins at the end too.
    producer.begin_transaction()
    producer.produce(topic, event(50))
    producer.flush()
    pipelines.send(topic, [event(51)])
    late = {"name": "late", "starting_offsets": "latest"}
    path = pipelines.stream(topic, [OUT, late])
    counts = pipelines.route(spark, path)
    assert (counts["out"], counts["late"]) == (Counts(), Counts())
    producer.commit_transaction(LIMIT_S)
    counts = pipelines.route(spark, path)
    assert counts["out"] == Counts(2, written=2)
    assert counts["late"] == Counts(2, written=2)
    assert ids(pipelines, topic, "late") == [50, 51]
    ends = KafkaCluster(pipelines.workspace.cluster("fronting")).offsets(topic)
    assert ledger_of(pipelines, topic).positions == {0: ends[0].stop}


@pytest.mark.long
def test_a_compacted_topic(
    spark: SparkSession, pipelines: Pipelines, unique: Callable[[str], str]
) -> None:
    topic = unique("compacted")
    settings = {
        "cleanup.policy": "compact",
        "segment.ms": "100",
        "min.cleanable.dirty.ratio": "0.01",
        "max.compaction.lag.ms": "100",
    }
    KafkaCluster(pipelines.workspace.cluster("fronting")).ensure_topic(topic, 1, settings)
    number = 2_000

    def left() -> int:
        # A record rolls the segment, so that the one before can be compacted.
        pipelines.send(topic, [KafkaRecord(event(number), b"last")])
        return len(pipelines.seen(topic, "fronting"))

    pipelines.send(topic, [KafkaRecord(event(n), str(n % 50).encode()) for n in range(number)])
    assert wait_until(lambda: left() < number // 2, LIMIT_S)
    there = pipelines.seen(topic, "fronting")
    path = pipelines.stream(topic, [OUT])
    counts = pipelines.route(spark, path)["out"]
    done = stretch_of(pipelines, topic)
    assert counts.read == counts.written
    assert counts.read + done.absent == done.end_exclusive
    # The cleaner may have been there in between.
    assert counts.read <= len(there) + 1
    assert set(range(number - 50, number)) <= set(ids(pipelines, topic))
