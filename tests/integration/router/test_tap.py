"""`headrace tap` on a real topic: which records it shows, what it says of them, what it leaves."""

from __future__ import annotations

import json
import threading
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from confluent_kafka import Producer

from headrace.embedded.process import wait_until
from headrace.errors import BadConfig, UsageError
from headrace.kafka.cluster import KafkaCluster
from headrace.kafka.sender import KafkaRecord
from headrace.produce import read_records
from headrace.signals import Drain
from headrace.testing import run_app
from headrace.times import format_time_us
from router.tap.stream_names import named
from router.tap.tap import TapRequest, tap
from tests.integration.pipelines import event
from tests.limits import LIMIT_S

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import SparkSession

    from tests.integration.pipelines import Pipelines

Option = str | int | bool | Path | None
AT_MS = 1_772_323_200_000
OUTPUTS: list[dict[str, Any]] = [
    {
        "name": "starts",
        "filter": "kind = 'start'",
        "project": ["id", "kind"],
        "sink": {"key": "id"},
    },
    {"name": "shares", "project": ["100 div (id - 1) AS share"]},
]
RECORDS = [
    KafkaRecord(event(0), b"k0", (("trace", b"t"),), AT_MS),
    KafkaRecord(event(1), b"k1", (), AT_MS + 1000),
    KafkaRecord(event(2, "stop"), b"k2", (), AT_MS + 2000),
    KafkaRecord(b"no json", b"k3", (), AT_MS + 3000),
]


def quarantine(topic: str) -> dict[str, object]:
    return {"quarantine": {"cluster": "fronting", "topic": f"{topic}.quarantine"}}


@pytest.fixture
def topic(pipelines: Pipelines, unique: Callable[[str], str]) -> str:
    name = unique("tapped")
    pipelines.make_topic(name)
    pipelines.send(name, RECORDS)
    pipelines.stream(name, OUTPUTS, hygiene=quarantine(name))
    return name


def tapped(pipelines: Pipelines, words: str, **more: Option) -> tuple[list[str], str]:
    """Return what is shown of all that is there, and what was counted."""
    said: list[str] = []
    beside: list[str] = []
    request = replace(TapRequest(begin="beginning", once=True), **more)  # type: ignore[arg-type]  # any of its fields
    found = named(pipelines.workspace, words, None)
    says = {"say": said.append, "say_beside": beside.append}
    tap(pipelines.workspace, found, request, Drain(), **says)
    first, count = beside
    assert first.startswith("reading topic tapped_")
    return said, count


def as_json(pipelines: Pipelines, words: str, **more: Option) -> list[dict[str, Any]]:
    return [json.loads(one) for one in tapped(pipelines, words, as_json=True, **more)[0]]


def test_each_record_is_shown_with_what_becomes_of_it(pipelines: Pipelines, topic: str) -> None:
    first, second, stop, bad = as_json(pipelines, topic)
    position = {"topic": topic, "partition": 0, "offset": 0}
    assert first | position == first
    assert (first["timestamp"], first["key"]) == ("2026-03-01T00:00:00.000000Z", "k0")
    assert first["headers"] == [["trace", "t"]]
    starts = first["outputs"]["starts"]
    assert (starts["outcome"], starts["key"]) == ("written", "0")
    assert starts["value"] == {"id": 0, "kind": "start"}
    assert first["to"]["starts"] == f"topic {topic}.starts as json"
    assert second["outputs"]["shares"] == {
        "outcome": "bad",
        "reason": "a division by zero",
        "becomes": "quarantine",
    }
    assert stop["outputs"]["starts"] == {"outcome": "filtered", "filter": "kind = 'start'"}
    assert (bad["bad"]["rule"], bad["bad"]["becomes"]) == ("decode", "quarantine")
    assert bad["value"] == "no json"

    said, count = tapped(pipelines, f"{topic}.starts")
    assert count == "4 records read, 4 shown"
    text = "\n".join(said)
    assert f"{topic}-0 @ 0  2026-03-01T00:00:00.000000Z  key k0" in text
    assert "filtered: kind = 'start' is not true for this record" in text
    assert f"it goes to the quarantine topic {topic}.quarantine" in text
    assert "shares" not in text


def test_a_condition_and_a_number_bound_what_is_shown(pipelines: Pipelines, topic: str) -> None:
    shown = as_json(pipelines, topic, where="kind = 'start' AND id > 0")
    assert [one["offset"] for one in shown] == [1]
    assert all("--where" not in one["outputs"] for one in shown)
    assert [one["offset"] for one in as_json(pipelines, topic, most=2)] == [0, 1]
    since = format_time_us((AT_MS + 1500) * 1000)
    assert [one["offset"] for one in as_json(pipelines, topic, begin=since)] == [2, 3]
    assert as_json(pipelines, topic, begin="2126-01-01T00:00:00Z") == []
    assert as_json(pipelines, topic, begin="end") == []
    with pytest.raises(UsageError, match=r"--where: .*kimd"):
        tapped(pipelines, topic, where="kimd = 'start'")
    with pytest.raises(UsageError, match="only Spark can evaluate it"):
        tapped(pipelines, topic, where="soundex(kind) = 'S363'")


def test_a_name_that_is_not_there_is_told_with_one_that_is(
    pipelines: Pipelines, topic: str
) -> None:
    with pytest.raises(UsageError) as found:
        named(pipelines.workspace, f"{topic}x", None)
    assert f'did you mean "{topic}"?' in found.value.advice
    with pytest.raises(UsageError) as found:
        named(pipelines.workspace, f"{topic}.start", None)
    assert 'did you mean "starts"?' in found.value.advice
    pipelines.stream(topic, [{"name": "starts", "filter": "kimd = 'start'"}])
    with pytest.raises(BadConfig, match="kimd"):
        named(pipelines.workspace, topic, None)


def test_what_is_masked_is_nowhere(pipelines: Pipelines, topic: str, tmp_path: Path) -> None:
    secret = "s3cret"  # noqa: S105 - what no output of it may have
    bad = json.dumps({"id": "no number", "kind": secret, "at": 1}).encode()
    pipelines.send(topic, [KafkaRecord(event(9, secret), secret.encode()), KafkaRecord(bad)])
    masks = {"mask": {"kind": {"keep_first": 1}}, **quarantine(topic)}
    pipelines.stream(topic, [{"name": "all"}], hygiene=masks)
    fixture, text = tmp_path / "a.jsonl", "\n".join(tapped(pipelines, topic)[0])
    whole = json.dumps(as_json(pipelines, topic, fixture=fixture))
    for shown in (text, whole, fixture.read_text()):
        assert secret not in shown
        assert "s***" in shown
    # The record that is rejected, and the other one, are no fixture: nobody knows where its masks are.
    assert len(fixture.read_text().splitlines()) == len(RECORDS)


def test_a_record_cannot_move_the_cursor(pipelines: Pipelines, topic: str) -> None:
    escape = "\x1b[2J\x9b"
    headers = ((escape, escape.encode()),)
    pipelines.send(topic, [KafkaRecord(event(5, escape), escape.encode(), headers)])
    pipelines.send(topic, [KafkaRecord(json.dumps({escape: 1}).encode())])
    strict = {"unknown_fields": "refuse", **quarantine(topic)}
    pipelines.stream(topic, OUTPUTS, hygiene=strict)
    text = "".join(tapped(pipelines, topic)[0])
    assert r"\x1b[2J\x9b" in text
    assert text.replace("\n", "").isprintable()


def test_a_fixture_is_what_the_topic_has(pipelines: Pipelines, topic: str, tmp_path: Path) -> None:
    fixture = tmp_path / "raw.jsonl"
    _, count = tapped(pipelines, topic, fixture=fixture)
    assert count == f"4 records read, 4 shown, 4 written to {fixture}"
    assert list(read_records([fixture], envelope=True)) == RECORDS
    with pytest.raises(UsageError, match="is there already"):
        tapped(pipelines, topic, fixture=fixture)


def test_a_fixture_of_an_output_is_the_input_of_an_applications_test(
    pipelines: Pipelines, topic: str, tmp_path: Path, spark: SparkSession
) -> None:
    fixture = tmp_path / "starts.jsonl"
    _, count = tapped(pipelines, f"{topic}.starts", fixture=fixture)
    assert "2 written to" in count
    live = {"type": "kafka", "cluster": "consumer", "topics": f"{topic}.starts", "format": "json"}
    fields = [{"name": "id", "type": "long"}, {"name": "kind", "type": "string"}]
    pipelines.write("starts.avsc", {"type": "record", "name": "Start", "fields": fields})
    app = {
        "kind": "app",
        "name": topic,
        "sources": {"live": {**live, "schema": "starts.avsc"}},
        "transform": {"sql": "SELECT id, kind FROM live"},
        "sink": {"type": "jsonl", "path": "out"},
    }
    rows = run_app(spark, pipelines.write(f"{topic}.yaml", app), {"live": fixture})
    assert sorted(row["id"] for row in rows) == [0, 1]


def test_it_follows_the_topic_and_joins_no_group(pipelines: Pipelines, topic: str) -> None:
    cluster = pipelines.workspace.cluster("fronting")
    said: list[str] = []
    beside: list[str] = []
    drain = Drain()
    found = named(pipelines.workspace, topic, None)
    request = TapRequest(as_json=True)
    says = {"say": said.append, "say_beside": beside.append}
    arguments = (pipelines.workspace, found, request, drain)
    thread = threading.Thread(target=tap, args=arguments, kwargs=says)
    thread.start()

    def send_one_more() -> bool:
        # From its end on: what is sent before it has looked there is not shown.
        pipelines.send(topic, [event(70)])
        return bool(said)

    try:
        assert wait_until(send_one_more, LIMIT_S)
        producer = Producer({**cluster.client_properties(), "transactional.id": topic})
        producer.init_transactions(LIMIT_S)
        producer.begin_transaction()
        producer.produce(topic, event(71))
        producer.flush(LIMIT_S)
        producer.abort_transaction(LIMIT_S)
        pipelines.send(topic, [event(72)])
        assert wait_until(lambda: '"id": 72' in said[-1], LIMIT_S)
    finally:
        drain._asked.set()  # noqa: SLF001 - as a signal does, which only a main thread gets
        thread.join(LIMIT_S)
    assert {json.loads(one)["read"]["id"] for one in said} == {70, 72}
    assert min(json.loads(one)["offset"] for one in said) >= len(RECORDS)
    assert "\n".join(beside).splitlines() == [
        f"reading topic {topic} of cluster fronting from its end on",
        f"  starts  to topic {topic}.starts as json, compiled",
        f"  shares  to topic {topic}.shares as json, compiled",
        f"{len(said)} records read, {len(said)} shown",
    ]
    kafka = KafkaCluster(cluster)
    groups = kafka.admin.list_consumer_groups().result(LIMIT_S).valid
    assert not [one.group_id for one in groups if "tap" in one.group_id or "ranges" in one.group_id]
