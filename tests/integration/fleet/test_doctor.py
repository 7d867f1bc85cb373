"""`headrace doctor` against a real broker, beside addresses where nobody is."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pytest

from fleet import doctor
from fleet.doctor import Finding, examine
from headrace.config.load import load_workspace
from headrace.errors import Terminal
from headrace.kafka.cluster import KafkaCluster
from headrace.kafka.log_topic import LogTopic, ensure_log_topic

if TYPE_CHECKING:
    from pathlib import Path

    from headrace.embedded.broker import Broker
    from tests.registry_server import RegistryServer

HEADRACE = """\
clusters:
  here: {{bootstrap_servers: "{bootstrap}"}}
  nowhere: {{bootstrap_servers: "127.0.0.1:1"}}
catalogs:
  lake: {{type: sql, uri: "sqlite:///.headrace/catalog.db", warehouse: ".headrace/warehouse"}}
  away: {{type: rest, uri: "http://127.0.0.1:1"}}
"""
STREAM = """\
kind: stream
name: {name}
source:
  {{type: kafka, cluster: here, topic: {name}, format: avro, schema: {{registry: {{url: "{url}", subject: s}}}}}}
hygiene: {{on_bad_record: drop}}
outputs:
  - name: found
    sink: {{type: search, url: "http://user:hidden-word@127.0.0.1:1", index: found}}
"""


def by_name(found: list[Finding]) -> dict[str, Finding]:
    return {f"{one.what} {one.name}".strip(): one for one in found}


def test_everything_is_looked_at_and_what_is_away_is_named(
    tmp_path: Path, broker: Broker, registry_server: RegistryServer
) -> None:
    (tmp_path / "headrace.yaml").write_text(HEADRACE.format(bootstrap=broker.bootstrap_servers))
    (tmp_path / "one.yaml").write_text(STREAM.format(name="doctor", url=registry_server.url))
    (tmp_path / "broken.yaml").write_text("kind: stream\nname: broken\n")
    found = by_name(examine(load_workspace(tmp_path)))
    assert {name for name, one in found.items() if one.ok} == {
        *("java", "jars", "disk", "cluster here", "catalog lake", "registry stream doctor")
    }
    assert "in 1 file" in found["files"].detail
    assert "no Kafka broker of cluster nowhere answers" in found["cluster nowhere"].detail
    assert not found["catalog away"].ok
    search = found["search node of stream doctor, output found"]
    assert "does not answer" in search.detail
    assert "hidden-word" not in "".join(one.as_text() for one in found.values())


def test_a_registry_that_is_away_is_named(tmp_path: Path, broker: Broker) -> None:
    (tmp_path / "headrace.yaml").write_text(HEADRACE.format(bootstrap=broker.bootstrap_servers))
    (tmp_path / "one.yaml").write_text(STREAM.format(name="away", url="http://127.0.0.1:1"))
    found = by_name(examine(load_workspace(tmp_path)))
    assert "the schema registry does not answer" in found["registry stream away"].detail


def test_a_clock_that_is_behind_the_brokers_is_named(
    tmp_path: Path, broker: Broker, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "headrace.yaml").write_text(HEADRACE.format(bootstrap=broker.bootstrap_servers))
    kafka = KafkaCluster(load_workspace(tmp_path).cluster("here"))
    ensure_log_topic(kafka, "headrace.clocked.ledger")
    log = LogTopic(kafka.properties, "headrace.clocked.ledger")
    log.write([("key", "value")])
    log.close()
    cluster = load_workspace(tmp_path).cluster("here")
    assert "clocks compared" in doctor._cluster(cluster, ["clocked"])  # noqa: SLF001 - without waiting for all others
    behind_s = time.time() - 3600
    monkeypatch.setattr(time, "time", lambda: behind_s)
    with pytest.raises(Terminal, match="3,600 s or more behind"):
        doctor._cluster(cluster, ["clocked"])  # noqa: SLF001 - as above
