"""Replays into a topic: key, headers, partition and value as the table's own topic had them."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest

from backfill.apps.replay import AppRun, replay_app
from backfill.plan.period import parse_period
from backfill.run.request import ReplayRequest, new_run_id, state_of
from backfill.streams import Replay
from headrace.application.live import LiveStart, live_stream
from headrace.config.load import load_app
from headrace.errors import Transient, UsageError
from headrace.kafka.sender import KafkaRecord
from headrace.records.avro.writer import AvroWriter
from headrace.records.rows import row_class
from headrace.registry.address import RegistryAddress
from headrace.registry.client import Registry
from headrace.schema.avro import parse_avro
from headrace.secret import Secret
from headrace.signals import Drain
from stream_app.live import live_sources, run_live
from tests.integration.app.test_same_records import rows_of
from tests.integration.kept_records import NULLABLE, ODD_HEADERS, RAW_SOURCE, SENT, T0_MS, kept_of

from .in_process import PERIOD, Commands, rows_in

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from pyspark.sql import SparkSession

    from headrace.config.load import LoadedApp
    from headrace.config.workspace.workspace import Workspace
    from tests.integration.pipelines import Pipelines, Seen
    from tests.registry_server import RegistryServer

KEEP: dict[str, Any] = {"keep": ["key", "headers"], "hygiene": {"tombstones": "keep"}}
OURS = ["headrace.origin", "headrace.replay", "region"]
BUILD = """
def build(sources):
    more = sources["more"]
    assert more.columns == ["id", "kind", "__metadata__"]
    return sources["events"].join(more.selectExpr("id", "kind AS more"), "id")
"""


@pytest.fixture
def commands(workspace: Workspace, capsys: pytest.CaptureFixture[str]) -> Commands:
    """The command, in the shared workspace."""
    return Commands(workspace, capsys)


@dataclass(frozen=True)
class Ways:
    """A topic, the table that it lands in, and a topic that the table goes back to."""

    pipelines: Pipelines
    spark: SparkSession
    commands: Commands
    name: str

    @property
    def again(self) -> str:
        return f"{self.name}_again"

    @property
    def table(self) -> str:
        return f"lake.tv.{self.name}"

    @property
    def to(self) -> str:
        return f"kafka:consumer/{self.again}"

    def land(self, records: Sequence[KafkaRecord], schema: Any = NULLABLE, **more: Any) -> None:  # noqa: ANN401 - JSON
        self.pipelines.send(self.name, records)
        self.pipelines.land(self.spark, self.pipelines.table(self.name, self.name, schema, **more))

    def replay(self, *more: str) -> list[Seen]:
        """Return what came since, by partition and offset."""
        before = {place(one) for one in self.pipelines.seen(self.again)}
        done = self.commands.replay(self.table, self.to, *more)
        assert done.code == 0
        return [one for one in self.pipelines.seen(self.again) if place(one) not in before]


@pytest.fixture
def ways(
    pipelines: Pipelines, spark: SparkSession, commands: Commands, unique: Callable[[str], str]
) -> Ways:
    found = Ways(pipelines, spark, commands, unique("kept"))
    pipelines.make_topic(found.name, 2)
    pipelines.make_topic(found.again, 2, "consumer")
    return found


def place(seen: Seen) -> tuple[int, int]:
    return seen.partition, seen.offset


def by_partition(records: Sequence[KafkaRecord]) -> list[KafkaRecord]:
    return sorted(records, key=lambda one: one.partition)


def assert_kept(seen: Sequence[Seen], sent: Sequence[KafkaRecord]) -> None:
    """Compare all but the values byte for byte; our own headers come last."""
    ordered = by_partition(sent)
    assert [(one.partition, one.key) for one in seen] == [(o.partition, o.key) for o in ordered]
    for one, original in zip(seen, ordered, strict=True):
        own = len(original.headers)
        assert one.headers[:own] == tuple(original.headers)
        # The cluster's own region, where the record does not say another.
        assert [name for name, _ in one.headers[own:]] == ours(original)


def ours(original: KafkaRecord) -> list[str]:
    has_region = any(name == "region" for name, _ in original.headers)
    return OURS[:2] if has_region else OURS


def contents(values: Sequence[bytes | None]) -> list[object]:
    return [None if one is None else json.loads(one) for one in values]


def test_json_goes_back_with_key_headers_and_tombstones(ways: Ways) -> None:
    ways.land(SENT, **KEEP)
    seen = ways.replay()
    assert_kept(seen, SENT)
    wanted = contents([one.value for one in by_partition(SENT)])
    assert contents([one.value for one in seen]) == wanted
    # In strict order, a row at a time, and by a column as the key.
    assert_kept(ways.replay("--order", "strict", "--rate-limit", "100"), SENT)
    keyed = ways.replay("--key", "kind")
    assert {(one.key, one.value is None) for one in keyed} == {
        *((key, False) for key in (b"a", b"b", b"d", None)),
        (None, True),
    }
    lengths = sorted(len([*one.headers, *ours(one)]) for one in SENT)
    assert sorted(len(one.headers) for one in keyed) == lengths
    origins = {(one.header("headrace.origin") or b"").decode() for one in keyed}
    assert f"{ways.name}/0/0/{T0_MS}" in origins


def test_raw_goes_back_byte_for_byte(ways: Ways) -> None:
    sent = [*SENT, KafkaRecord(b"\xff\x00{", b"\x00", ODD_HEADERS, T0_MS + 7, 1)]
    ways.land(sent, source={**RAW_SOURCE, "topic": ways.name}, keep=["headers"])
    seen = ways.replay()
    assert_kept(seen, sent)
    assert [one.value for one in seen] == [one.value for one in by_partition(sent)]
    shown = ways.replay("--format", "json")
    assert json.loads(shown[0].value or b"").keys() == {"key", "value"}
    assert shown[0].key is None


def test_a_raw_table_without_the_column_gives_back_its_key_all_the_same(ways: Ways) -> None:
    ways.land(SENT, source={**RAW_SOURCE, "topic": ways.name})
    seen = ways.replay()
    wanted = [(one.partition, one.key, one.value) for one in by_partition(SENT)]
    assert [(one.partition, one.key, one.value) for one in seen] == wanted
    assert [[name for name, _ in one.headers] for one in seen[:2]] == [OURS, OURS]


def test_avro_goes_back_under_the_new_topics_subject(
    ways: Ways, registry_server: RegistryServer
) -> None:
    schema = {
        **NULLABLE,
        "fields": [
            *NULLABLE["fields"],
            {"name": "at", "type": ["null", {"type": "long", "logicalType": "timestamp-millis"}]},
            {"name": "bag", "type": ["null", {"type": "map", "values": "double"}]},
            {"name": "mark", "type": ["null", {"type": "fixed", "name": "F", "size": 2}]},
            {
                "name": "of",
                "type": [
                    "null",
                    {"type": "array", "items": {"type": "enum", "name": "E", "symbols": ["X"]}},
                ],
            },
        ],
    }
    record = parse_avro(schema)
    subject = f"{ways.name}-value"
    write = AvroWriter(record, registry_server.put(subject, json.dumps(schema)).id)
    rows = [
        (1, "a", T0_MS * 1000, {"x": 0.5}, b"\x00\xff", ["X", "X"]),
        (None, None, None, None, None, None),
        (2, "b", None, {}, None, []),
    ]
    values = [write(row_class(record)(*row)) for row in rows]
    sent = [
        KafkaRecord(value, f"k{n}".encode(), ODD_HEADERS, T0_MS + n, n % 2)
        for n, value in enumerate(values)
    ]
    sent.append(KafkaRecord(None, b"k0", (), T0_MS + 9, 0))
    registry = {"registry": {"url": registry_server.url, "subject": subject}}
    source = {**RAW_SOURCE, "format": "avro", "topic": ways.name, "schema": registry}
    ways.land(sent, source=source, **KEEP)
    with pytest.raises(UsageError) as refused:
        ways.commands.replay(ways.table, ways.to)
    assert "--registry URL" in str(refused.value.advice)
    assert "--format json" in str(refused.value.advice)
    run_id = f"run-{ways.name}"
    seen = ways.replay("--registry", registry_server.url, "--run-id", run_id)
    assert_kept(seen, sent)
    client = Registry(RegistryAddress(Secret(registry_server.url)))
    latest = client.latest(f"{ways.again}-value")
    wanted = [one.value for one in by_partition(sent)]
    assert [None if one.value is None else one.value[5:] for one in seen] == [
        None if one is None else one[5:] for one in wanted
    ]
    framed = {int.from_bytes(one.value[1:5]) for one in seen if one.value is not None}
    assert [client.schema_by_id(one) for one in framed] == [latest]
    assert [field["name"] for field in json.loads(latest)["fields"]] == [
        field["name"] for field in schema["fields"]
    ]
    as_json = ways.replay("--format", "json")
    assert_kept(as_json, sent)
    assert json.loads(as_json[0].value or b"")["at"] == "2026-03-01T00:00:00.000000Z"


def test_a_password_of_the_registry_is_shown_and_kept_nowhere(
    ways: Ways, workspace: Workspace
) -> None:
    ways.land(SENT[:1])
    run_id = f"run-{ways.name}"
    url = "http://me:sesame@127.0.0.1:9"
    more = ("--format", "avro", "--registry", url, "--run-id", run_id)
    with pytest.raises(Exception, match="registry") as problem:
        ways.commands.replay(ways.table, ways.to, *more)
    assert "sesame" not in f"{problem.value!r} {problem.value} {problem.value.__dict__}"
    folder = state_of(workspace, run_id).folder
    told = [file.read_text() for file in folder.rglob("*") if file.is_file()]
    assert told
    assert not [text for text in told if "sesame" in text or "127.0.0.1:9" in text]
    # Avro it was begun with, and Avro it is; the registry is to be named again.
    resume = ("replay", "--resume", "--run-id", run_id)
    with pytest.raises(UsageError, match="goes to Kafka as Avro") as refused:
        ways.commands(*resume)
    assert "--registry URL" in str(refused.value.advice)
    with pytest.raises(UsageError, match="was started with avro"):
        ways.commands(*resume, "--format", "json")


def test_a_run_goes_on_in_the_format_that_it_was_begun_with(
    ways: Ways, registry_server: RegistryServer
) -> None:
    ways.land(SENT[:4], **KEEP)
    resume = ("replay", "--resume", "--run-id", f"run-{ways.name}")
    registry = ("--registry", registry_server.url)
    registry_server.stop()
    with pytest.raises(Transient, match="registry"):
        ways.commands.replay(ways.table, ways.to, "--format", "avro", *registry, *resume[2:])
    with pytest.raises(UsageError, match="goes to Kafka as Avro"):
        ways.commands(*resume)
    registry_server.start()
    with pytest.raises(UsageError, match="was started with avro"):
        ways.commands(*resume, "--format", "json", *registry)
    done = ways.commands(*resume, *registry, "-o", "json")
    assert done.json["complete"]
    seen = ways.pipelines.seen(ways.again)
    assert_kept(seen, SENT[:4])
    assert {(one.value or b"")[:1] for one in seen} == {b"\0"}


def test_what_a_format_or_a_target_cannot_do_is_told(ways: Ways, tmp_path: Path) -> None:
    ways.land(SENT[:1], **KEEP)
    with pytest.raises(UsageError, match="has no column value of bytes"):
        ways.commands.replay(ways.table, ways.to, "--format", "raw")
    with pytest.raises(UsageError, match="--format is for records of a topic"):
        ways.commands.replay(ways.table, f"jsonl:{tmp_path}/x", "--format", "json")
    with pytest.raises(UsageError, match="--registry is for records of a topic"):
        ways.commands.replay(ways.table, f"jsonl:{tmp_path}/x", "--registry", "http://x")
    with pytest.raises(UsageError, match="--key __record__: there is no such column"):
        ways.commands.replay(ways.table, ways.to, "--key", "__record__")


def test_rows_from_before_it_was_kept_go_as_they_did(ways: Ways, tmp_path: Path) -> None:
    schema = {
        **NULLABLE,
        "fields": [
            *NULLABLE["fields"],
            {
                "name": "items",
                "type": {
                    "type": "array",
                    "items": {
                        "type": "record",
                        "name": "Item",
                        "fields": [{"name": "sku", "type": "string"}],
                    },
                },
                "default": [],
            },
        ],
    }

    def sent(number: int) -> KafkaRecord:
        value = json.dumps({"id": number, "items": [{"sku": "s"}]}).encode()
        return KafkaRecord(value, b"k", (("h", b"v"),), T0_MS + number, 0)

    ways.land([sent(1)], schema)
    ways.land([sent(2)], schema, keep=["key"])
    ways.land([sent(3)], schema, keep=["key", "headers"])
    wanted = [(None, []), (b"k", []), (b"k", [("h", b"v")])]
    for order in ("bounded", "strict"):
        seen = ways.replay("--order", order)
        assert [(one.key, list(one.headers)[:-3]) for one in seen] == wanted
        assert [json.loads(one.value or b"")["id"] for one in seen] == [1, 2, 3]
    # Files from before another column came are read by Iceberg's own projection.
    wider = {**NULLABLE, "fields": [*NULLABLE["fields"], {"name": "more", "type": ["null", "int"]}]}
    other = Ways(ways.pipelines, ways.spark, ways.commands, f"{ways.name}_wider")
    ways.pipelines.make_topic(other.name, 2)
    ways.pipelines.make_topic(other.again, 2, "consumer")
    other.land(SENT[:1])
    other.land(SENT[1:], **KEEP)
    other.land([sent(9)], wider, schema_evolution="add_columns", **KEEP)
    seen = other.replay("--order", "strict")
    assert (seen[0].key, [name for name, _ in seen[0].headers]) == (None, OURS)
    assert_kept(seen[1:], [*SENT[1:], sent(9)])
    ways.commands.replay(other.table, f"jsonl:{tmp_path}/rows", "--order", "strict")
    rows = rows_in(tmp_path / "rows")
    assert rows[0]["__record__"] is None
    stored = by_partition([*SENT[1:], sent(9)])
    for row, one in zip(rows[1:], stored, strict=True):
        kept = kept_of(one)
        assert row["__record__"]["tombstone"] == kept["tombstone"]
        assert (row["__record__"]["headers"] is None) == (kept["headers"] is None)


def test_an_application_reads_the_same_live_and_replayed(ways: Ways) -> None:
    fields = [{"name": "id", "type": ["null", "long"], "default": None}]
    schema = {**NULLABLE, "fields": fields}
    sent = [
        KafkaRecord(b'{"id": %d}' % n, b"k", (("h", b"v"), ("region", b"eu")), T0_MS + n, n % 2)
        for n in range(20)
    ]
    ways.land(sent, schema, **KEEP)
    workspace = ways.pipelines.workspace
    app = _app(ways, "live", {})
    live = live_stream(LiveStart(ways.spark, workspace, app, once=True), "live")
    replay = Replay([ways.table], "2026-03-01", "2026-03-02", workspace=workspace.root)
    past = replay.streams(ways.spark, ways.name)[ways.table]
    assert past.columns == live.columns == ["id", "__metadata__"]
    assert past.schema == live.schema
    assert rows_of(past, f"{ways.name}_past") == rows_of(live, f"{ways.name}_live")
    # By its name it is there, for a program that wants it.
    named = replay.streams(ways.spark, f"{ways.name}_named", columns={ways.table: ["__record__"]})
    rows = rows_of(named[ways.table], f"{ways.name}_named").to_pylist()
    assert {row["__record__"]["key"] for row in rows} == {b"k"}


def test_whatever_reads_a_table_for_an_application_leaves_it_out(ways: Ways) -> None:
    sent = [KafkaRecord(b'{"id": %d}' % n, b"k", ODD_HEADERS, T0_MS + n, n % 2) for n in range(20)]
    ways.land(sent, **KEEP)
    workspace, spark = ways.pipelines.workspace, ways.spark
    kinds: dict[str, Any] = {
        "live": {},
        "followed": {"follow": {}},
        "both": {"type": "hybrid", "past": "past", "live": "live"},
    }
    found = {}
    for kind, more in kinds.items():
        app = _app(ways, kind, more)
        run_live(app, workspace, spark, live_sources(app, {}), Drain(), once=True)
        found[kind] = _lines(ways, kind)
    app = _app(ways, "past", {})
    period, lookups = parse_period(*PERIOD[1::2]), app.config.lookups
    request = ReplayRequest((ways.table,), period, (), "bounded", 60_000_000, lookups=lookups)
    certificate = replay_app(AppRun(app, workspace, new_run_id()), request, spark, Drain())
    assert certificate.complete
    found["past"] = _lines(ways, "past")
    assert len(found["live"]) == len(sent)
    assert list(found["live"][0]) == ["id", "kind", "__metadata__", "more"]
    assert found == dict.fromkeys(found, found["live"])


def _lines(ways: Ways, kind: str) -> list[dict[str, Any]]:
    folder = ways.pipelines.workspace.root / "out" / f"{ways.name}_{kind}"
    lines = [line for path in folder.glob("*.json*") for line in path.read_text().splitlines()]
    return sorted(map(json.loads, lines), key=lambda row: row["id"])


def _app(ways: Ways, kind: str, more: dict[str, Any]) -> LoadedApp:
    """Write an application whose source is of one kind; a lookup is of the same table."""
    live = {"type": "kafka", "cluster": "fronting", "topics": ways.name, "format": "json"}
    table = {"type": "iceberg", "catalog": "lake", "database": "tv", "table": ways.name}
    chosen = kind if more else "live"
    sources: dict[str, Any] = {
        "events": {"type": "dynamic", "selected": chosen, "candidates": ["live", chosen]},
        "live": {**live, "schema": f"schemas/{ways.name}.avsc"},
    }
    match kind:
        case "followed":
            sources[kind] = {**table, **more}
        case "both":
            sources |= {kind: more, "past": table}
        case _:
            sources["events"]["candidates"] = ["live", "past"]
            sources["past"] = table
    path = ways.pipelines.write(
        f"apps/{ways.name}_{kind}.yaml",
        {
            "kind": "app",
            "name": f"{ways.name}_{kind}",
            "sources": sources,
            "lookups": {
                "more": {
                    "type": "iceberg",
                    "catalog": "lake",
                    "database": "tv",
                    "table": ways.name,
                    "as_of": "today",
                }
            },
            "transform": {"python": "kept_app:build"},
            "sink": {"type": "jsonl", "path": f"out/{ways.name}_{kind}"},
        },
    )
    ways.pipelines.workspace.root.joinpath("apps/kept_app.py").write_text(BUILD)
    return load_app(path, ways.pipelines.workspace)
