"""Clusters with TLS, logins and access lists: all stages go through them, and say what is refused."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from confluent_kafka import KafkaException

from backfill.command.cli import backfill
from headrace.cli.main import headrace
from headrace.config.load import load_app, load_workspace
from headrace.errors import Terminal
from headrace.iceberg.catalog import open_catalog
from headrace.kafka.bulk import BulkProducer, ProducerSettings, properties_of
from headrace.kafka.cluster import KafkaCluster
from headrace.kafka.ranges import RangeReader
from headrace.kafka.refusal import AccessRefused
from headrace.signals import Drain
from lake_writer.cli import lake_writer
from router.cli.main import router
from stream_app.live import live_sources, run_live
from tests.integration.backfill.lake_tables import Stored, make_table
from tests.integration.pipelines import EVENT_SCHEMA, Pipelines, event
from tests.secure_broker import GUEST, SecureBroker

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    import rich_click as click
    from pyspark.sql import SparkSession

    from headrace.config.workspace.workspace import Workspace

RECORDS = 20


@pytest.fixture(scope="module")
def secure(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SecureBroker]:
    """A broker of its own: the shared one lets everybody in."""
    with SecureBroker(tmp_path_factory.mktemp("secure")) as running:
        yield running


@pytest.fixture(scope="module")
def secured(secure: SecureBroker, tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    """A workspace with a cluster for each way to come in; not each of them leads there."""
    good, mutual = secure.login(), secure.mutual_tls(secure.client)
    ways = {
        "fronting": mutual,
        "consumer": good,
        "wrong-password": secure.login(password="guess"),  # noqa: S106 - wrong
        "unknown-user": secure.login("nobody"),
        "plain-mechanism": good | {"sasl.mechanism": "PLAIN"},
        "unknown-authority": good | {"ssl.ca.location": str(secure.stranger.certificate)},
        "no-authority-file": good | {"ssl.ca.location": "nowhere.pem"},
        "expired-broker": mutual | {"bootstrap.servers": f"127.0.0.1:{secure.expired}"},
        "no-certificate": secure.mutual_tls(None),
        "expired-certificate": secure.mutual_tls(secure.expired_client),
        "foreign-certificate": secure.mutual_tls(secure.foreign_client),
        "guest": secure.login(GUEST),
    }
    clusters = {
        name: {"bootstrap_servers": way.pop("bootstrap.servers"), "properties": way}
        for name, way in ((name, dict(way)) for name, way in ways.items())
    }
    catalog = {"type": "sql", "uri": "sqlite:///.headrace/catalog.db", "warehouse": "warehouse"}
    root = tmp_path_factory.mktemp("secured")
    text = json.dumps({"clusters": clusters, "catalogs": {"lake": catalog}})
    (root / "headrace.yaml").write_text(text)
    return load_workspace(root)


@pytest.fixture(scope="module")
def events(secured: Workspace) -> str:
    """A topic with records, made and filled over TLS with a certificate."""
    pipelines, topic = Pipelines(secured), "events"
    pipelines.make_topic(topic, 2)
    pipelines.send(topic, map(event, range(RECORDS)))
    return topic


def run(command: click.Command, workspace: Workspace, *words: str | Path) -> None:
    place = ["--workspace", str(workspace.root)]
    command.main([*map(str, words), *place], standalone_mode=False)


def test_all_stages(secured: Workspace, events: str, spark: SparkSession) -> None:
    """In by a certificate, out by a password: both clients, librdkafka's and Java's, in both ways."""
    pipelines = Pipelines(secured)
    counts = pipelines.route(spark, pipelines.stream(events, [{"name": "all"}]))
    assert counts["all"].written == RECORDS
    routed = f"{events}.all"
    source = {"type": "kafka", "cluster": "consumer", "topic": routed, "format": "json"}
    schema = {"schema": "schemas/landed.avsc"}
    landed = pipelines.land(spark, pipelines.table("landed", routed, source=source | schema))
    assert landed.rows == RECORDS

    pipelines.make_topic("again", 4)
    period = ("--start-ts", "2020-01-01", "--end-ts", "2100-01-01")
    table = ("--table", "lake.tv.landed", "--to", "kafka:fronting/again")
    run(backfill, secured, "replay", *table, *period)
    assert len(pipelines.seen("again")) == RECORDS

    app = pipelines.write(
        "apps/copy.yaml",
        {
            "kind": "app",
            "name": "copy",
            "sources": {
                "events": {
                    "type": "kafka",
                    "cluster": "consumer",
                    "topics": "again",
                    "format": "json",
                    "schema": "../schemas/event.avsc",
                }
            },
            "transform": {"sql": "SELECT id, kind FROM events"},
            "sink": {
                "type": "kafka",
                "cluster": "fronting",
                "topic": "copied",
                "format": "json",
                "key": "id",
            },
        },
    )
    loaded = load_app(app, secured)
    ran = run_live(loaded, secured, spark, live_sources(loaded, {}), Drain(), once=True)
    assert ran.rows == RECORDS
    assert len(pipelines.seen("copied")) == RECORDS


REFUSED = {
    "wrong-password": r"cluster wrong-password .* rejects the login",
    "unknown-user": r"cluster unknown-user .* rejects the login",
    "plain-mechanism": r"(?s)rejects the login.*sasl\.mechanism",
    "unknown-authority": r"(?s)certificate of cluster unknown-authority .*ssl\.ca\.location",
    "no-authority-file": r"settings of cluster no-authority-file: .*ssl\.ca\.location",
    "expired-broker": r"certificate of cluster expired-broker .* expired",
    "no-certificate": r"(?s)cluster no-certificate .* TLS connection.*ssl\.certificate\.location",
    "expired-certificate": r"(?s)cluster expired-certificate .* TLS connection.*has not expired",
    "foreign-certificate": r"(?s)cluster foreign-certificate .* TLS connection.*authority it trusts",
    "guest": r"(?s)cluster guest .* does not allow this client to use topic mine.*kafka-acls",
}


@pytest.mark.parametrize("cluster", REFUSED)
def test_who_is_not_let_in_is_told_why(cluster: str, secured: Workspace, tmp_path: Path) -> None:
    lines = tmp_path / "lines.jsonl"
    lines.write_text('{"id": 1}\n')
    with pytest.raises(Terminal, match=REFUSED[cluster]):
        run(headrace, secured, "produce", lines, "--cluster", cluster, "--topic", "mine")


def test_so_do_all_commands(secured: Workspace, events: str, spark: SparkSession) -> None:
    pipelines = Pipelines(secured)
    pipelines.write("schemas/event.avsc", EVENT_SCHEMA)
    source = {"type": "kafka", "format": "json", "schema": "schemas/event.avsc", "topic": events}
    table = pipelines.table("refused", events, source=source | {"cluster": "wrong-password"})
    with pytest.raises(AccessRefused, match=REFUSED["wrong-password"]):
        run(lake_writer, secured, "start", "-c", table, "--once")
    stream = pipelines.stream(events, [{"name": "x"}], source=source | {"cluster": "guest"})
    hidden = rf"does not allow this client to use topic {events}"
    with pytest.raises(AccessRefused, match=hidden):
        run(router, secured, "start", "-c", stream, "--once")
    stored = make_table(open_catalog(secured.catalog("lake")), "stored", [[Stored(0, 0, 1.0)]])
    where = ("--table", stored, "--start-ts", "2020-01-01", "--end-ts", "2100-01-01")
    with pytest.raises(AccessRefused, match=REFUSED["expired-broker"]):
        run(backfill, secured, "replay", *where, "--to", f"kafka:expired-broker/{events}")
    live = {"type": "kafka", "cluster": "guest", "topics": events, "format": "json"}
    app = pipelines.write(
        "apps/refused.yaml",
        {
            "kind": "app",
            "name": "refused",
            "sources": {"events": live | {"schema": "../schemas/event.avsc"}},
            "transform": {"sql": "SELECT id FROM events"},
            "sink": {"type": "jsonl", "path": "refused"},
        },
    )
    loaded = load_app(app, secured)
    with pytest.raises(AccessRefused, match=hidden):
        run_live(loaded, secured, spark, live_sources(loaded, {}), Drain(), once=True)


def test_a_task_does_not_try_again_what_it_is_not_allowed(secured: Workspace, events: str) -> None:
    properties = secured.cluster("guest").client_properties()
    reader = RangeReader(properties)
    with pytest.raises(AccessRefused, match=r"does not allow this client to use"):
        list(reader.chunks(events, {0: range(1)}))
    reader.close()
    producer = BulkProducer(ProducerSettings(properties_of(properties), "none", 1_000_000))
    try:
        producer.produce(events, b"{}")
    except KafkaException as problem:
        pytest.fail(f"it is told when it is sent: {problem}")
    with pytest.raises(AccessRefused, match=r"does not allow this client to use topic events"):
        producer.flush()


def test_a_good_login_is_asked_for_nothing_else(secured: Workspace, events: str) -> None:
    for name in ("fronting", "consumer"):
        assert KafkaCluster(secured.cluster(name)).require_topic(events) == 2
