"""Records of every bad kind between good ones: kept byte for byte, once, and in nobody's way."""

from __future__ import annotations

import json
import random
from collections import Counter
from typing import TYPE_CHECKING

import pytest
from confluent_kafka import Producer

from headrace import contract
from headrace.kafka.cluster import KafkaCluster
from headrace.kafka.sender import KafkaRecord
from router.ledger import entries
from router.ledger.entries import Counts
from tests.integration.kept_records import send_with_headers
from tests.integration.pipelines import Pipelines, Seen, event
from tests.integration.router.live_router import ledger_of, stretch_of
from tests.limits import LIMIT_S
from tests.unit.router.workspaces import invoke

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from pyspark.sql import SparkSession


LARGEST_BYTES = 12_000_000
FIRST_MS = 1_700_000_000_000
# Only Java's regular expressions look behind.
BY_SPARK = "kind rlike '(?<=s)tart'"

Parts = tuple[bytes | None, bytes | None, int, tuple[tuple[str, bytes | None], ...]]


def deep(levels: int) -> bytes:
    return b'{"id": 1, "at": 0, "more": ' + b"[" * levels + b"]" * levels + b"}"


POISON: dict[str, bytes | None] = {
    "not JSON": b"hello",
    "no UTF-8": b'{"id": 1, "at": 0, "kind": "\xff"}',
    "no UTF-8 in what is skipped": b'{"id": 1, "at": 0, "more": "\xc0\xaf"}',
    "half of a pair": b'{"id": 1, "at": 0, "kind": "\\ud800"}',
    "nothing": None,
    "empty": b"",
    "blank": b" ",
    "10 MB": b'{"id": "' + b"x" * 10_000_000 + b'"}',
    "10 MB that do not compress": random.Random(1).randbytes(10_000_000),
    "1,000 levels": deep(1_000),
    "100,000 levels": deep(100_000),
    "wrong type": b'{"id": "one", "at": 0}',
    "beyond long": b'{"id": 9223372036854775808, "at": 0}',
    "truncated": event(1)[:-5],
    "trailing": event(1) + b" and more",
    "two": event(1) + event(2),
    "no object": b"[]",
    "null": b"null",
    "NaN": b'{"id": NaN, "at": 0}',
    "a zero byte": b"\x00",
    "without what is needed": b'{"id": 1}',
}


def send(pipelines: Pipelines, topic: str, records: Iterable[Parts]) -> None:
    """Send records that may be large."""
    cluster = pipelines.workspace.cluster("fronting").client_properties()
    producer = Producer(
        {**cluster, "message.max.bytes": 2 * LARGEST_BYTES, "linger.ms": 20, "acks": "all"}
    )
    failed: list[object] = []
    for value, key, timestamp_ms, headers in records:
        producer.produce(
            topic,
            value,
            key,
            timestamp=timestamp_ms,
            headers=list(headers),
            on_delivery=lambda error, _: failed.append(error) if error else None,
        )
        producer.poll(0)
    assert (producer.flush(LIMIT_S), failed) == (0, [])


def parts_of(one: Seen) -> Parts:
    """Return what must not change, without what a quarantine adds."""
    own = tuple(header for header in one.headers if not header[0].startswith("__connect."))
    return one.value, one.key, one.timestamp_ms, own


def place_of(one: Seen) -> tuple[int, int]:
    said = (contract.QUARANTINE_PARTITION, contract.QUARANTINE_OFFSET)
    partition, offset = (int(one.header(name) or b"-1") for name in said)
    return partition, offset


def assert_kept(pipelines: Pipelines, topic: str, bad: Counter[Parts]) -> None:
    """Compare the quarantine with what was injected, and each record with where it came from."""
    kept = pipelines.seen(f"{topic}.quarantine", "fronting")
    assert Counter(map(parts_of, kept)) == bad
    there = {(one.partition, one.offset): one for one in pipelines.seen(topic, "fronting")}
    assert all(parts_of(there[place_of(one)]) == parts_of(one) for one in kept)
    assert {one.header(contract.QUARANTINE_STAGE) for one in kept} == {b"VALUE_CONVERTER"}
    assert all(one.header(contract.QUARANTINE_EXCEPTION_MESSAGE) for one in kept)


@pytest.mark.parametrize("isolation", ["output", pytest.param("stream", marks=pytest.mark.long)])
def test_poison_of_every_kind(
    spark: SparkSession, pipelines: Pipelines, unique: Callable[[str], str], isolation: str
) -> None:
    topic = unique("poison")
    kafka = KafkaCluster(pipelines.workspace.cluster("fronting"))
    kafka.ensure_topic(topic, 2, {"max.message.bytes": str(LARGEST_BYTES)})
    number = 1_000 * len(POISON)
    bad: list[Parts] = [
        (value, f"k{index}\xff".encode("latin-1"), FIRST_MS + index, (("of", b"\xfe"), ("n", None)))
        for index, value in enumerate(POISON.values())
    ]
    kinds = ("start", "stop")
    records: list[Parts] = [(event(n, kinds[n % 2]), None, 0, ()) for n in range(number)]
    chance = random.Random(7)
    for one in bad:
        records.insert(chance.randrange(len(records)), one)
    send(pipelines, topic, records)
    outputs: list[dict[str, object]] = [
        {"name": "starts", "filter": "kind = 'start'"},
        {"name": "all", "project": ["id"]},
        {"name": "by_spark", "filter": BY_SPARK},
    ]
    path = pipelines.stream(topic, outputs, isolation=isolation)
    counts = pipelines.route(spark, path)
    half, whole = number // 2, number + len(bad)
    assert counts == {
        "starts": Counts(whole, written=half, filtered=half, quarantined=len(bad)),
        "all": Counts(whole, written=number, quarantined=len(bad)),
        "by_spark": Counts(whole, written=half, filtered=half, quarantined=len(bad)),
        "quarantine": Counts(whole, filtered=number, quarantined=len(bad)),
    }
    assert_kept(pipelines, topic, Counter(bad))
    evens = range(0, number, 2)
    for name, wanted in (("starts", evens), ("all", range(number)), ("by_spark", evens)):
        found = [json.loads(one.value or b"")["id"] for one in pipelines.seen(f"{topic}.{name}")]
        assert sorted(found) == list(wanted), name
        assert entries.flaws(ledger_of(pipelines, topic, name).entries) == []
        spans = kafka.offsets(topic)
        for partition, span in spans.items():
            done = stretch_of(pipelines, topic, name, partition)
            assert (range(done.start, done.end_exclusive), done.absent) == (span, 0)


def test_what_its_topic_only_just_took_the_quarantine_takes_too(
    spark: SparkSession, pipelines: Pipelines, unique: Callable[[str], str]
) -> None:
    topic = unique("packed")
    kafka = KafkaCluster(pipelines.workspace.cluster("fronting"))
    bounds = {"message.timestamp.after.max.ms": "40000000000000"}
    kafka.ensure_topic(topic, 1, {"max.message.bytes": "100000", **bounds})
    # A repetition that only zstd is far-sighted enough to see.
    value = random.Random(1).randbytes(80_000) * 4
    cluster = pipelines.workspace.cluster("fronting").client_properties()
    producer = Producer({**cluster, "compression.type": "zstd", "acks": "all"})
    failed: list[object] = []
    ahead_ms = 30_000_000_000_000
    producer.produce(
        topic, value, timestamp=ahead_ms, on_delivery=lambda error, _: failed.append(error)
    )
    assert (producer.flush(LIMIT_S), failed) == (0, [None])
    pipelines.send(topic, [event(1)])
    counts = pipelines.route(spark, pipelines.stream(topic, [{"name": "out"}]))
    assert counts["out"] == Counts(2, written=1, quarantined=1)
    (kept,) = pipelines.seen(f"{topic}.quarantine", "fronting")
    assert (kept.value, kept.timestamp_ms) == (value, ahead_ms)
    assert bounds.items() <= kafka.settings(f"{topic}.quarantine").items()


@pytest.mark.parametrize("isolation", ["output", pytest.param("stream", marks=pytest.mark.long)])
def test_an_expression_that_fails_costs_its_output_that_record(
    spark: SparkSession, pipelines: Pipelines, unique: Callable[[str], str], isolation: str
) -> None:
    topic = unique("failing")
    pipelines.make_topic(topic, 2)
    kinds = ("7", "x")
    pipelines.send(topic, [event(n, kinds[n % 2]) for n in range(20)])
    outputs: list[dict[str, object]] = [
        {"name": "filter", "filter": "10 div id = 1"},
        {"name": "column", "project": ["id", "10 div id AS tens"]},
        {"name": "cast", "project": ["cast(kind AS int) AS kind"]},
        {"name": "spark_filter", "filter": "10 div id = 1 AND soundex(kind) = kind"},
        {"name": "spark_column", "project": ["id", "10 div id AS tens", "soundex(kind) AS s"]},
        {"name": "unharmed"},
    ]
    counts = pipelines.route(spark, pipelines.stream(topic, outputs, isolation=isolation))
    assert counts == {
        "filter": Counts(20, written=5, filtered=14, quarantined=1),
        "column": Counts(20, written=19, quarantined=1),
        "cast": Counts(20, written=10, quarantined=10),
        "spark_filter": Counts(20, written=3, filtered=16, quarantined=1),
        "spark_column": Counts(20, written=19, quarantined=1),
        "unharmed": Counts(20, written=20),
        "quarantine": Counts(20, filtered=20),
    }
    kept = pipelines.seen(f"{topic}.quarantine", "fronting")
    names = (contract.QUARANTINE_CONNECTOR, contract.QUARANTINE_STAGE)
    told = Counter((*(one.header(name) for name in names), one.value) for one in kept)
    failing = {
        name: [event(0, "7")] for name in ("filter", "column", "spark_filter", "spark_column")
    }
    failing["cast"] = [event(n, "x") for n in range(1, 20, 2)]
    assert told == Counter(
        (f"{topic}.{name}".encode(), b"TRANSFORMATION", value)
        for name, values in failing.items()
        for value in values
    )


def test_a_header_whose_name_is_no_utf_8_makes_a_bad_record_for_every_output(
    spark: SparkSession, pipelines: Pipelines, unique: Callable[[str], str]
) -> None:
    """Compiled expressions and Spark's, the quarantine's list and its replay."""
    topic = unique("headers")
    pipelines.make_topic(topic)
    bootstrap = pipelines.workspace.cluster("fronting").bootstrap_servers
    pipelines.send(topic, [event(1)])
    send_with_headers(bootstrap, topic, event(2), [(b"trace", b"t"), (b"bad\xff", b"v")])
    pipelines.send(topic, [event(3)])
    by_spark = {"name": "spark", "filter": BY_SPARK}
    path = pipelines.stream(topic, [{"name": "out"}, by_spark])
    counts = pipelines.route(spark, path)
    assert {name: (one.written, one.quarantined) for name, one in counts.items()} == {
        "out": (2, 1),
        "spark": (2, 1),
        "quarantine": (0, 1),
    }
    (bad,) = pipelines.seen(f"{topic}.quarantine", "fronting")
    assert bad.headers[:2] == (("trace", b"t"), ("bad\\xff", b"v"))
    assert bad.header(contract.QUARANTINE_OFFSET) == b"1"
    listed = invoke("quarantine list", path, workspace=pipelines.workspace.root).stdout
    assert "the name of a header is no UTF-8" in " ".join(listed.split())
    # In the quarantine its headers have names that can be read: that is what a replay sends.
    again = ("quarantine replay", path, "--format", "json", "--output", "out")
    done = json.loads(invoke(*again, workspace=pipelines.workspace.root).stdout)
    assert done["outputs"]["out"]["replayed"] == 1, done
    sent = pipelines.seen(f"{topic}.out")
    assert sorted(json.loads(one.value or b"")["id"] for one in sent) == [1, 2, 3]


def test_times_that_no_calendar_has_stop_no_output(
    spark: SparkSession, pipelines: Pipelines, unique: Callable[[str], str]
) -> None:
    """Nor do values that Spark makes and a format cannot write; compiled expressions and Spark's do the same."""
    topic = unique("times")
    pipelines.make_topic(topic)
    # A clock in microseconds, and one in nanoseconds, which no TIMESTAMP can hold.
    times = (None, -1, FIRST_MS * 1_000, FIRST_MS * 1_000_000)
    pipelines.send(topic, [KafkaRecord(event(1), timestamp_ms=at) for at in times])
    year = {"project": ["id", "year(__metadata__.kafka_ingestion_ts) AS year"]}
    time = {"project": ["__metadata__.kafka_ingestion_ts AS time"]}
    outputs = [
        {"name": f"{name}_{by}", **project, **({"filter": BY_SPARK} if by == "spark" else {})}
        for name, project in {"year": year, "time": time}.items()
        for by in ("direct", "spark")
    ]
    path = pipelines.stream(topic, outputs)
    counts = pipelines.route(spark, path)
    expected = {"year": Counts(4, written=4), "time": Counts(4, written=2, quarantined=2)}
    written: dict[str, list[object]] = {}
    for name, whole in expected.items():
        direct, by_spark = f"{name}_direct", f"{name}_spark"
        assert {one: counts[one] for one in (direct, by_spark)} == {direct: whole, by_spark: whole}
        values, same = (
            sorted(
                json.loads(one.value or b"")[name] for one in pipelines.seen(f"{topic}.{output}")
            )
            for output in (direct, by_spark)
        )
        assert values == same
        written[name] = values
    # The last year of a TIMESTAMP stands for all behind it.
    assert written["year"] == [1969, 2026, 55_840, 294_247]
    assert written["time"][:-1] == ["1969-12-31T23:59:59.999000Z"]
    kept = Counter(one.timestamp_ms for one in pipelines.seen(f"{topic}.quarantine", "fronting"))
    assert kept == {times[2]: 2, times[3]: 2}
