"""Avro by way of a registry: schemas that change in mid-topic, a registry that is away, every format."""

from __future__ import annotations

import io
import json
import urllib.request
from collections import Counter
from typing import TYPE_CHECKING, Any

import fastavro
import pytest

from headrace import contract
from headrace.embedded.process import wait_until
from headrace.kafka.sender import KafkaRecord
from router.ledger.entries import Counts
from tests.integration.pipelines import Pipelines, event
from tests.integration.router.live_router import live, places_of
from tests.limits import LIMIT_S

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pyspark.sql import SparkSession

    from tests.registry_server import RegistryServer

LONG = {"type": "long", "logicalType": "timestamp-millis"}
AT_MS = 1_772_323_200_000
BAD = 9_999


def schema(*fields: Mapping[str, object]) -> dict[str, object]:
    return {"type": "record", "name": "tv.Event", "fields": list(fields)}


ID = {"name": "id", "type": "long"}
KIND = {"name": "kind", "type": ["null", "string"], "default": None}
AT = {"name": "at", "type": LONG}
# What the stream reads is in the middle: some writers are older, some newer.
STREAMS = schema(ID, KIND, AT)
OLDER = schema({"name": "id", "type": "int"}, AT)
NEWER = schema(ID, KIND, {"name": "more", "type": {"type": "map", "values": "string"}}, AT)
OTHER = schema({"name": "id", "type": {"type": "array", "items": "long"}}, AT)


@pytest.fixture
def topic(unique: Callable[[str], str], pipelines: Pipelines) -> str:
    name = unique("avro")
    pipelines.make_topic(name, 2)
    return name


def avro(schema_id: int, written: dict[str, object], value: object) -> bytes:
    """Write a record as Confluent's clients do."""
    out = io.BytesIO(b"\0" + schema_id.to_bytes(4, "big"))
    out.seek(5)
    fastavro.schemaless_writer(out, fastavro.parse_schema(written), value)
    return out.getvalue()


def registered(server: RegistryServer, value: bytes | None) -> dict[str, Any]:
    """Read a record as Confluent's clients do: by the id before it, and to its end."""
    assert value is not None
    assert value[0] == 0
    schema_id = int.from_bytes(value[1:5], "big")
    with urllib.request.urlopen(f"{server.url}/schemas/ids/{schema_id}") as answer:  # noqa: S310 - the test's own
        written = json.loads(json.load(answer)["schema"])
    payload = io.BytesIO(value[5:])
    found = fastavro.schemaless_reader(payload, fastavro.parse_schema(written), None)
    assert payload.read() == b""
    assert isinstance(found, dict)
    return found


def reading(server: RegistryServer, topic: str) -> dict[str, object]:
    """Return a source of Avro, whose schema is the subject's newest."""
    server.put(f"{topic}-value", STREAMS)
    place = {"registry": {"url": server.url, "subject": f"{topic}-value"}}
    whole = {"type": "kafka", "cluster": "fronting", "topic": topic, "format": "avro"}
    return {**whole, "schema": place}


def older(server: RegistryServer, number: int) -> bytes:
    return avro(server.put("old", OLDER).id, OLDER, {"id": number, "at": AT_MS})


def newer(server: RegistryServer, number: int) -> bytes:
    value = {"id": number, "kind": "new", "more": {"a": "b"}, "at": AT_MS}
    return avro(server.put("new", NEWER).id, NEWER, value)


def current(server: RegistryServer, number: int) -> bytes:
    held = server.put("now", STREAMS)
    return avro(held.id, STREAMS, {"id": number, "kind": "now", "at": AT_MS})


def ids(pipelines: Pipelines, topic: str) -> dict[int, str | None]:
    rows = [json.loads(one.value or b"") for one in pipelines.seen(f"{topic}.out")]
    assert len({row["id"] for row in rows}) == len(rows)
    return {row["id"]: row["kind"] for row in rows}


def test_a_schema_that_changes_in_mid_topic(
    spark: SparkSession, pipelines: Pipelines, topic: str, registry_server: RegistryServer
) -> None:
    makers = (older, current, newer)
    expected = {n: (None, "now", "new")[n % 3] for n in range(300)}
    pipelines.send(topic, [makers[n % 3](registry_server, n) for n in range(300)])
    path = pipelines.stream(topic, [{"name": "out"}], source=reading(registry_server, topic))
    assert pipelines.route(spark, path)["out"] == Counts(300, written=300)
    assert ids(pipelines, topic) == expected
    # Nobody can read this one as the stream's; those around it are read.
    held = registry_server.put("other", OTHER)
    other = avro(held.id, OTHER, {"id": [1], "at": AT_MS})
    pipelines.send(topic, [current(registry_server, 300), other, newer(registry_server, 301)])
    assert pipelines.route(spark, path)["out"] == Counts(3, written=2, quarantined=1)
    (kept,) = pipelines.seen(f"{topic}.quarantine", "fronting")
    assert kept.value == other
    message = (kept.header(contract.QUARANTINE_EXCEPTION_MESSAGE) or b"").decode()
    assert f"its schema {held.id} cannot be read as this stream's: " in message
    assert "id" in message


def test_avro_that_is_none(
    spark: SparkSession, pipelines: Pipelines, topic: str, registry_server: RegistryServer
) -> None:
    good = [current(registry_server, n) for n in range(1_000)]
    held = registry_server.put("proto", {"not": "avro"}, form="JSON")
    bad = {
        b"\0" + BAD.to_bytes(4, "big") + good[0][5:]: b"its schema id 9999 is not in the registry",
        b"\0" + held.id.to_bytes(4, "big") + good[0][5:]: b"is JSON, not Avro",
        good[0][:-3]: b"the value ends before its record does",
        good[0][:3]: b"the value ends before its schema id does",
        good[0] + b"\0": b"1 bytes follow the record in its value",
        b"\x07" + good[0][1:]: b"its first byte is 0x07",
        event(1): b"its first byte is 0x7b",
        b"": b"the value is empty",
        good[0][:5] + b"\x00\x02\x7e" + b"x" * 5: b"kind is longer than the value it is in",
        # A text of more than there is; one that is no UTF-8.
        avro(
            int.from_bytes(good[0][1:5], "big"), STREAMS, {"id": 1, "kind": "ab", "at": 0}
        ).replace(b"ab", b"\xff\xfe"): b"a text in it is not UTF-8",
    }
    records = [KafkaRecord(one, b"k", (("own", b"\xff"),)) for one in bad]
    pipelines.send(topic, [*good[:500], *records, KafkaRecord(None, b"k"), *good[500:]])
    outputs: list[dict[str, object]] = [
        {"name": "out"},
        {"name": "by_spark", "project": ["id", "soundex(kind) AS s"]},
    ]
    path = pipelines.stream(topic, outputs, source=reading(registry_server, topic))
    counts = pipelines.route(spark, path)
    whole = Counts(1_000 + len(bad) + 1, written=1_000, quarantined=len(bad) + 1)
    assert (counts["out"], counts["by_spark"]) == (whole, whole)
    assert counts["quarantine"].quarantined == len(bad) + 1
    kept = pipelines.seen(f"{topic}.quarantine", "fronting")
    assert Counter(one.value for one in kept) == Counter([*bad, None])
    for one in kept:
        message = one.header(contract.QUARANTINE_EXCEPTION_MESSAGE) or b""
        assert bad.get(one.value or b"", b"") in message or one.value is None
        assert one.key == b"k"


def test_a_registry_that_is_away(
    spark: SparkSession, pipelines: Pipelines, topic: str, registry_server: RegistryServer
) -> None:
    pipelines.send(topic, [current(registry_server, n) for n in range(10)])
    late = [newer(registry_server, n) for n in range(20, 25)]
    path = pipelines.stream(topic, [{"name": "out"}], source=reading(registry_server, topic))
    with live(pipelines, spark, path):
        assert wait_until(lambda: done(pipelines, topic) == 10, LIMIT_S)
        registry_server.stop()
        # Of a schema that is known: as if nothing were.
        pipelines.send(topic, [current(registry_server, n) for n in range(10, 20)])
        assert wait_until(lambda: done(pipelines, topic) == 20, LIMIT_S)
        # Of one that is not: it waits until somebody can tell.
        pipelines.send(topic, late)
        asked = wait_until(lambda: done(pipelines, topic) == 25, 8.0)
        assert (asked, done(pipelines, topic)) == (False, 20)
        registry_server.start()
        assert wait_until(lambda: done(pipelines, topic) == 25, LIMIT_S)
    assert ids(pipelines, topic).keys() == set(range(25))
    assert pipelines.seen(f"{topic}.quarantine", "fronting") == []


def done(pipelines: Pipelines, topic: str) -> int:
    return sum(places_of(pipelines, topic).values())


def test_any_format_into_any(
    spark: SparkSession, pipelines: Pipelines, topic: str, registry_server: RegistryServer
) -> None:
    def to(name: str, form: str, **more: object) -> dict[str, object]:
        sink: dict[str, object] = {"type": "kafka", "cluster": "consumer", "format": form}
        sink["topic"] = f"{topic}.{name}"
        if form == "avro":
            sink["registry"] = {"url": registry_server.url}
        if name == "spark":
            # What Spark makes of a column is not known before it runs.
            sink["schema"] = "schemas/sound.avsc"
        return {"name": name, "sink": sink, **more}

    pipelines.write("schemas/sound.avsc", schema(ID, {"name": "sound", "type": ["null", "string"]}))
    pipelines.send(topic, map(event, range(20)))
    outputs = [
        to("avro", "avro"),
        to("json", "json"),
        to("part", "avro", project=["id", "upper(kind) AS kind"], filter="id < 5"),
        to("spark", "avro", project=["id", "soundex(kind) AS sound"]),
        to("raw", "raw", project=["kind AS value"]),
    ]
    path = pipelines.stream(topic, outputs)
    counts = pipelines.route(spark, path)
    assert {name: one.written for name, one in counts.items()} == {
        "avro": 20,
        "json": 20,
        "part": 5,
        "spark": 20,
        "raw": 20,
        "quarantine": 0,
    }

    def found(name: str) -> list[dict[str, Any]]:
        rows = [registered(registry_server, one.value) for one in pipelines.seen(f"{topic}.{name}")]
        return sorted(rows, key=lambda row: row["id"])

    assert [(row["id"], row["kind"]) for row in found("avro")] == [(n, "start") for n in range(20)]
    assert found("part") == [{"id": n, "kind": "START"} for n in range(5)]
    assert found("spark") == [{"id": n, "sound": "S363"} for n in range(20)]
    assert {one.value for one in pipelines.seen(f"{topic}.raw")} == {b"start"}
    # And on from there: Avro into JSON, and into Avro.
    source = {
        "type": "kafka",
        "cluster": "consumer",
        "topic": f"{topic}.avro",
        "format": "avro",
        "schema": {"registry": {"url": registry_server.url, "subject": f"{topic}.avro-value"}},
    }
    whole: dict[str, object] = {"kind": "stream", "name": f"{topic}-on", "source": source}
    whole["outputs"] = [to("back", "json"), to("again", "avro")]
    counts = pipelines.route(spark, pipelines.write(f"streams/{topic}-on.yaml", whole))
    assert (counts["back"].written, counts["again"].written) == (20, 20)
    said = sorted(json.loads(one.value or b"")["id"] for one in pipelines.seen(f"{topic}.back"))
    assert said == list(range(20))
    assert found("again") == found("avro")


def test_raw_bytes_stay_as_they_are(spark: SparkSession, pipelines: Pipelines, topic: str) -> None:
    values = [b"\xff\x00", b"", event(1), None]
    pipelines.send(topic, [KafkaRecord(value, b"\xfe") for value in values])
    source = {"type": "kafka", "cluster": "fronting", "topic": topic, "format": "raw"}
    sink = {"format": "raw"}
    output = {"name": "out", "project": ["value"], "sink": sink}
    path = pipelines.stream(topic, [output], source=source)
    assert pipelines.route(spark, path)["out"] == Counts(4, written=4)
    seen = [one.value for one in pipelines.seen(f"{topic}.out")]
    assert Counter(seen) == Counter(values)
