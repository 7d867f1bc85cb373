"""`router audit` against a real topic, with ledgers written as the router writes them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from confluent_kafka import Producer

from headrace.kafka.cluster import KafkaCluster
from router.ledger.entries import BEGINNING, Counts, LedgerEntry, LedgerStretch
from router.ledger.file import Header, LedgerFile
from router.ledger.state import stream_state
from router.run.member import now_text
from tests.integration.pipelines import Pipelines, event
from tests.unit.router.workspaces import invoke

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


@pytest.fixture
def topic(unique: Callable[[str], str], pipelines: Pipelines) -> str:
    name = unique("audited")
    pipelines.make_topic(name)
    pipelines.send(name, map(event, range(20)))
    return name


def keep(pipelines: Pipelines, topic: str, *stretches: LedgerStretch) -> Path:
    """Write the ledger of the output `out`; return its file."""
    kafka = KafkaCluster(pipelines.workspace.cluster("fronting"))
    ledger = LedgerFile(stream_state(pipelines.workspace, topic).ledger("out"))
    first = LedgerStretch(stretches[0].start, stretches[0].start, Counts())
    header = Header(topic, "out", "fronting", topic, kafka.topic_id(topic))
    ledger.begin(header, LedgerEntry(BEGINNING, now_text(), {0: first}))
    for batch, stretch in enumerate(stretches):
        ledger.append(LedgerEntry(batch, now_text(), {0: stretch}))
    return ledger.path


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
    path = keep(pipelines, topic, read(0, 10), read(10, 13), read(13, 18))
    code, found = audited(pipelines, topic)
    assert code == 0
    (partition,) = found["outputs"][0]["partitions"]
    assert (partition["began"], partition["done"], partition["lag"]) == (0, 18, 2)
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([*lines[:3], *lines[4:]]))
    assert messages(pipelines, topic) == [f"missing: {topic}-0 @ 10 to 12"]
    path.write_bytes(b"".join([*lines[:4], *lines[3:]]))
    assert messages(pipelines, topic) == [f"twice: {topic}-0 @ 10 to 12"]
    path.write_bytes(b"".join(lines).replace(b'"written":10', b'"written":11'))
    (damaged,) = messages(pipelines, topic)
    assert "is damaged at line 3: its checksum does not match" in damaged


def test_a_line_that_is_being_written_is_left_alone(pipelines: Pipelines, topic: str) -> None:
    path = keep(pipelines, topic, read(0, 20))
    with path.open("ab") as file:
        file.write(b'12345678 {"batch":')
    held = path.read_bytes()
    assert messages(pipelines, topic) == []
    assert path.read_bytes() == held


def test_offsets_without_a_record_are_looked_up(pipelines: Pipelines, topic: str) -> None:
    bootstrap = pipelines.workspace.cluster("fronting").bootstrap_servers
    producer = Producer({"bootstrap.servers": bootstrap, "transactional.id": topic})
    producer.init_transactions()
    for _ in range(2):
        producer.begin_transaction()
        producer.produce(topic, event(1))
        producer.commit_transaction()
    # 20 records, then twice a record and the end of its transaction.
    path = keep(pipelines, topic, read(0, 20), read(20, 22, absent=1), read(22, 24, absent=1))
    code, found = audited(pipelines, topic)
    assert (code, found["outputs"][0]["partitions"][0]["absent"]) == (0, 2)
    path.unlink()
    keep(pipelines, topic, read(0, 20, absent=3), read(20, 24, absent=2))
    assert messages(pipelines, topic) == [f"missing: 3 of the 20 records in {topic}-0 @ 0 to 19"]


def test_a_topic_made_anew_and_an_output_that_is_gone(pipelines: Pipelines, topic: str) -> None:
    path = keep(pipelines, topic, read(0, 20))
    path.parent.rename(path.parent.with_name("former"))
    code, found = audited(pipelines, topic)
    assert code == 0
    assert [one["output"] for one in found["outputs"]] == ["out", "former", "quarantine"]
    assert found["outputs"][1]["notes"] == ["the stream's file no longer has this output"]
    KafkaCluster(pipelines.workspace.cluster("fronting")).delete_topic(topic)
    pipelines.make_topic(topic)
    assert messages(pipelines, topic) == [
        f"topic: {topic} was deleted and re-created since this output began"
    ]
