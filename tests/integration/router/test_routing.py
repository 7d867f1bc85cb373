"""What the router makes of a topic: outputs, quarantine, counts, and its place."""

from __future__ import annotations

import base64
import json
import os
import random
import signal
from typing import TYPE_CHECKING

import pytest

from headrace import contract
from headrace.errors import HeadraceError, TopicMissing, UsageError
from headrace.kafka.cluster import KafkaCluster
from headrace.kafka.sender import KafkaRecord
from headrace.locks import AlreadyRunning, hold
from headrace.signals import Drain
from router.ledger.entries import Counts
from tests.integration.pipelines import Pipelines, event
from tests.limits import LIMIT_S

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import SparkSession


BAD = b'{"id": 1, "at": "\xff'
TIMESTAMP_MS = 1_700_000_000_123


@pytest.fixture
def topic(unique: Callable[[str], str], pipelines: Pipelines) -> str:
    name = unique("routed")
    pipelines.make_topic(name, partitions=2)
    return name


def test_every_record_is_written_filtered_or_quarantined(
    spark: SparkSession, pipelines: Pipelines, topic: str
) -> None:
    good = [event(n, ("start", "stop", None)[n % 3]) for n in range(90)]
    pipelines.send(topic, [*good, BAD, b"", KafkaRecord(None, b"gone"), event(1, extra=2)])
    outputs = [
        {"name": "starts", "filter": "kind = 'start'"},
        {"name": "all"},
        # Null is not «start», and its contrary is null too.
        {"name": "others", "filter": "NOT kind = 'start'"},
    ]
    counts = pipelines.route(spark, pipelines.stream(topic, outputs))
    assert counts == {
        "starts": Counts(94, written=31, filtered=60, quarantined=3),
        "all": Counts(94, written=91, quarantined=3),
        "others": Counts(94, written=30, filtered=61, quarantined=3),
        "quarantine": Counts(94, filtered=91, quarantined=3),
    }
    starts = [json.loads(one.value or b"") for one in pipelines.seen(f"{topic}.starts")]
    assert sorted(one["id"] for one in starts) == sorted([*range(0, 90, 3), 1])
    assert starts[0].keys() == {"id", "kind", "at"}
    nobody_knows = [json.loads(one.value or b"") for one in pipelines.seen(f"{topic}.all")]
    assert sum(one["kind"] is None for one in nobody_knows) == 30
    assert {one["at"] for one in nobody_knows if one["id"] == 7} == {"2026-03-01T00:00:00.007000Z"}


def test_a_filter_that_lets_nothing_pass_still_counts(
    spark: SparkSession, pipelines: Pipelines, topic: str
) -> None:
    """Spark does away with a batch that a constant turns away, and with the counts of it."""
    pipelines.send(topic, [event(1), event(2), BAD])
    conditions = {"false": "1 = 0", "null": "null", "never": "id IS NULL AND id IS NOT NULL"}
    outputs = [{"name": name, "filter": condition} for name, condition in conditions.items()]
    counts = pipelines.route(spark, pipelines.stream(topic, outputs))
    for name in conditions:
        assert counts[name] == Counts(3, filtered=2, quarantined=1)
        assert pipelines.seen(f"{topic}.{name}") == []


def test_what_goes_with_a_record(spark: SparkSession, pipelines: Pipelines, topic: str) -> None:
    own = (("trace", b"\xff\x00"), ("trace", b"2"), ("empty", b""), ("null", None))
    pipelines.send(
        topic,
        [
            KafkaRecord(event(1), b"k\xff", own, TIMESTAMP_MS),
            KafkaRecord(event(2), b"k\xff", (("region", b"eu"),), TIMESTAMP_MS + 1),
        ],
    )
    output = {
        "name": "out",
        "project": ["id", "upper(kind) AS kind", "__metadata__.region AS region"],
        "sink": {"key": "id"},
    }
    pipelines.route(spark, pipelines.stream(topic, [output]))
    first, second = pipelines.seen(f"{topic}.out")
    if json.loads(first.value or b"")["id"] == 2:
        first, second = second, first
    assert json.loads(first.value or b"") == {"id": 1, "kind": "START", "region": "us-east-1"}
    assert json.loads(second.value or b"")["region"] == "eu"
    assert (first.key, second.key) == (b"1", b"2")
    (came,) = {one.partition for one in pipelines.seen(topic, "fronting")}
    origin = (contract.ORIGIN, f"{topic}/{came}/0/{TIMESTAMP_MS}".encode())
    # The cluster that a consumer reads from says nothing of the region it came from.
    assert first.headers == (*own, ("region", b"us-east-1"), origin)
    assert [value for name, value in second.headers if name == "region"] == [b"eu"]


def test_an_output_may_do_without_the_origin(
    spark: SparkSession, pipelines: Pipelines, topic: str
) -> None:
    own = (("trace", b"\xff\x00"), ("null", None))
    records = [KafkaRecord(event(1), headers=own), KafkaRecord(event(2))]
    pipelines.send(topic, records)
    outputs: list[dict[str, object]] = [
        {"name": "compiled", "sink": {"origin": "none"}},
        {"name": "spark", "project": ["id", "soundex(kind) AS s"], "sink": {"origin": "none"}},
        {"name": "header"},
    ]
    pipelines.route(spark, pipelines.stream(topic, outputs, isolation="stream"))
    region = ("region", b"us-east-1")
    for name in ("compiled", "spark", "header"):
        seen = sorted(pipelines.seen(f"{topic}.{name}"), key=lambda one: one.value or b"")
        names = [[header for header, _ in one.headers] for one in seen]
        last = [contract.ORIGIN] if name == "header" else []
        assert names == [["trace", "null", "region", *last], ["region", *last]]
        assert seen[0].headers[:3] == (*own, region)


def test_the_quarantine_keeps_a_record_byte_for_byte(
    spark: SparkSession, pipelines: Pipelines, topic: str
) -> None:
    own = (("a", b"\xff"), ("a", b""), ("b", None))
    records = [
        KafkaRecord(BAD, b"\xfe", own, TIMESTAMP_MS),
        KafkaRecord(None, b"\xfe"),
        KafkaRecord(b"[]", b""),
    ]
    pipelines.send(topic, records)
    stream = pipelines.stream(topic, [{"name": "out"}])
    pipelines.route(spark, stream)
    kept = {one.value: one for one in pipelines.seen(f"{topic}.quarantine", "fronting")}
    came = {one.value: one for one in pipelines.seen(topic, "fronting")}
    assert kept.keys() == {BAD, None, b"[]"} == came.keys()
    assert (kept[BAD].key, kept[None].key, kept[b"[]"].key) == (b"\xfe", b"\xfe", b"")
    assert kept[BAD].headers == (
        *own,
        (contract.QUARANTINE_TOPIC, topic.encode()),
        (contract.QUARANTINE_PARTITION, str(came[BAD].partition).encode()),
        (contract.QUARANTINE_OFFSET, str(came[BAD].offset).encode()),
        (contract.QUARANTINE_CONNECTOR, topic.encode()),
        (contract.QUARANTINE_STAGE, b"VALUE_CONVERTER"),
        (contract.QUARANTINE_EXCEPTION_CLASS, b"headrace.BadRecord"),
        (contract.QUARANTINE_EXCEPTION_MESSAGE, b"the value is not UTF-8"),
    )
    assert kept[None].header(contract.QUARANTINE_EXCEPTION_MESSAGE) == b"the record has no value"


def test_hygiene_turns_away_what_is_missing_or_from_the_future(
    spark: SparkSession, pipelines: Pipelines, topic: str
) -> None:
    ahead = KafkaRecord(event(3), timestamp_ms=4_000_000_000_000)
    pipelines.send(topic, [event(1), event(2, None), ahead])
    hygiene = {"required": ["kind"], "max_future_skew": "10min"}
    stream = pipelines.stream(topic, [{"name": "out"}], hygiene=hygiene)
    counts = pipelines.route(spark, stream)
    assert counts["out"] == Counts(3, written=1, quarantined=2)
    messages = {
        one.header(contract.QUARANTINE_EXCEPTION_MESSAGE)
        for one in pipelines.seen(f"{topic}.quarantine", "fronting")
    }
    assert messages == {
        b"kind is required and missing",
        b"its timestamp is more than 600 s ahead of the clock",
    }


def test_a_clock_that_lies_is_carried_along_or_named(
    spark: SparkSession, pipelines: Pipelines, topic: str
) -> None:
    pipelines.send(topic, [KafkaRecord(event(1), timestamp_ms=300_000_000_000_000), event(2)])
    stream = pipelines.stream(topic, [{"name": "out"}])
    assert pipelines.route(spark, stream)["out"] == Counts(2, written=2)
    pipelines.send(topic, [KafkaRecord(event(3), timestamp_ms=2**62)])
    assert pipelines.route(spark, stream)["out"] == Counts(1, written=1)


def test_dropped_records_are_counted_and_kept_nowhere(
    spark: SparkSession, pipelines: Pipelines, topic: str
) -> None:
    pipelines.send(topic, [event(1), BAD])
    stream = pipelines.stream(topic, [{"name": "out"}], hygiene={"on_bad_record": "drop"})
    assert pipelines.route(spark, stream) == {"out": Counts(2, written=1, dropped={"decode": 1})}
    assert f"{topic}.quarantine" not in topics(pipelines)


def test_a_stream_that_fails_at_a_bad_record_says_which(
    spark: SparkSession, pipelines: Pipelines, topic: str
) -> None:
    pipelines.send(
        topic, [KafkaRecord(event(1), b"k"), KafkaRecord(BAD, b"k"), KafkaRecord(event(2), b"k")]
    )
    stream = pipelines.stream(topic, [{"name": "out"}], hygiene={"on_bad_record": "fail"})
    (place,) = [
        f"{topic}-{one.partition} @ {one.offset}: the value is not UTF-8"
        for one in pipelines.seen(topic, "fronting")
        if one.value == BAD
    ]
    with pytest.raises(HeadraceError, match=place):
        pipelines.route(spark, stream)
    assert event(2) not in [one.value for one in pipelines.seen(f"{topic}.out")]


def test_a_restart_goes_on_where_it_was(
    spark: SparkSession, pipelines: Pipelines, topic: str
) -> None:
    stream = pipelines.stream(topic, [{"name": "out"}])
    pipelines.send(topic, map(event, range(10)))
    assert pipelines.route(spark, stream)["out"].written == 10
    assert pipelines.route(spark, stream)["out"] == Counts()
    pipelines.send(topic, map(event, range(10, 15)))
    assert pipelines.route(spark, stream)["out"] == Counts(5, written=5)
    seen = [json.loads(one.value or b"")["id"] for one in pipelines.seen(f"{topic}.out")]
    assert sorted(seen) == list(range(15))


def test_outputs_keep_places_of_their_own(
    spark: SparkSession, pipelines: Pipelines, topic: str
) -> None:
    stream = pipelines.stream(topic, [{"name": "one"}, {"name": "two"}])
    pipelines.send(topic, map(event, range(10)))
    assert pipelines.route(spark, stream, ["two"]).keys() == {"two", "quarantine"}
    pipelines.send(topic, map(event, range(10, 15)))
    counts = pipelines.route(spark, stream)
    assert (counts["one"].written, counts["two"].written) == (15, 5)
    with pytest.raises(UsageError, match=f"stream {topic} has no output three"):
        pipelines.route(spark, stream, ["three"])


@pytest.mark.parametrize("origin", ["header", "none"])
@pytest.mark.parametrize(
    "doubled",
    ["concat(kind, kind) AS kinds", "concat(kind, kind, left(soundex(kind), 0)) AS kinds"],
)
def test_a_record_that_a_topic_refuses_is_quarantined_by_its_output(
    spark: SparkSession, pipelines: Pipelines, topic: str, origin: str, doubled: str
) -> None:
    """Twice the text of a large record is more than its topic takes."""
    large = base64.b64encode(random.Random(1).randbytes(60_000)).decode()
    kafka = KafkaCluster(pipelines.workspace.cluster("consumer"))
    kafka.ensure_topic(f"{topic}.refusing", settings={"max.message.bytes": "100000"})
    pipelines.send(topic, [event(1, kind=large), event(2)])
    refusing = {
        "name": "refusing",
        "project": ["id", doubled],
        "sink": {"origin": origin},
    }
    stream = pipelines.stream(topic, [refusing, {"name": "small", "project": ["id"]}])
    counts = pipelines.route(spark, stream)
    assert counts["refusing"] == Counts(2, written=1, quarantined=1)
    assert counts["small"] == Counts(2, written=2)
    (kept,) = pipelines.seen(f"{topic}.quarantine", "fronting")
    assert kept.value == event(1, kind=large)
    (source,) = [one for one in pipelines.seen(topic, "fronting") if one.value == kept.value]
    assert kept.header(contract.QUARANTINE_PARTITION) == str(source.partition).encode()
    assert kept.header(contract.QUARANTINE_OFFSET) == str(source.offset).encode()
    assert kept.header(contract.QUARANTINE_STAGE) == b"TASK_PUT"
    assert kept.header(contract.QUARANTINE_CONNECTOR) == f"{topic}.refusing".encode()


@pytest.mark.long
def test_an_output_whose_cluster_is_away_holds_up_no_other(
    spark: SparkSession, pipelines: Pipelines, topic: str
) -> None:
    pipelines.send(topic, [event(1), event(2)])
    away = {"name": "away", "sink": {"cluster": "nowhere"}}
    stream = pipelines.stream(topic, [away, {"name": "here"}])
    with pytest.raises(HeadraceError, match="no Kafka broker of cluster nowhere answers"):
        pipelines.route(spark, stream)
    assert len(pipelines.seen(f"{topic}.here")) == 2


def test_a_second_router_is_told_who_runs(
    spark: SparkSession, pipelines: Pipelines, topic: str
) -> None:
    stream = pipelines.stream(topic, [{"name": "out"}])
    lock = pipelines.workspace.state_dir / "router" / topic / "outputs" / "out" / "lock"
    with (
        hold(lock, "it", ""),
        pytest.raises(
            AlreadyRunning, match=rf"output out of stream {topic} already runs \(pid \d+\)"
        ),
    ):
        pipelines.route(spark, stream)


def test_a_topic_that_is_not_there(pipelines: Pipelines, unique: Callable[[str], str]) -> None:
    missing = unique("missing")
    path = pipelines.stream(missing, [{"name": "out"}])
    with pytest.raises(TopicMissing, match=f"cluster fronting has no topic {missing}"):
        pipelines.router(path).prepare()
    assert f"{missing}.out" not in topics(pipelines)


def test_asked_to_drain_before_it_began_it_ends_in_order(
    spark: SparkSession, pipelines: Pipelines, topic: str
) -> None:
    pipelines.send(topic, [event(1)])
    path = pipelines.stream(topic, [{"name": "out"}])
    router = pipelines.router(path)
    router.prepare()
    with Drain() as drain:
        os.kill(os.getpid(), signal.SIGTERM)
        assert drain.wait(LIMIT_S)
        router.run(spark, drain, once=False)
    assert pipelines.route(spark, path)["out"].written == 1


def topics(pipelines: Pipelines) -> dict[str, int]:
    return KafkaCluster(pipelines.workspace.cluster("fronting")).topics()
