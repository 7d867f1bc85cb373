"""`router quarantine`: bad records listed, and replayed once the configuration is mended."""

from __future__ import annotations

import json
import os
import signal
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest

from headrace import contract
from headrace.config.load import load_stream
from headrace.config.stream.effective import effective
from headrace.errors import UsageError
from headrace.kafka.bulk import BulkProducer, ProducerSettings, properties_of
from headrace.kafka.cluster import KafkaCluster
from headrace.kafka.message import GivenMessage, RecordPosition
from headrace.kafka.quarantine import EVALUATING, READING, Quarantine
from headrace.locks import AlreadyRunning, hold
from headrace.signals import Drain
from router.explain.explanation import explain
from router.explain.outcomes import Passed
from router.explain.spark_outcomes import spark_outcomes
from router.plan.planner import Planner
from router.quarantine.replay import Request, replay_quarantine
from tests.integration.pipelines import Pipelines, event
from tests.unit.router.workspaces import invoke

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pyspark.sql import SparkSession

    from headrace.config.workspace.workspace import Workspace
    from router.explain.outcomes import BySpark
    from router.quarantine.replay_records import ReplayReport

AT_MS = 1_700_000_000_123
OWN = (("trace", b"\xff"), ("region", b"eu"))
NOT_ABOVE_100 = {"ranges": {"id": {"max": 100}}}


@dataclass(frozen=True)
class Stream:
    """A stream whose records were all turned away."""

    pipelines: Pipelines
    name: str

    def write(self, *outputs: dict[str, object], **more: object) -> Path:
        return self.pipelines.stream(self.name, outputs or [{"name": "out"}], **more)

    def keep(self, number: int, *, output: str = "", value: bytes | None = None) -> None:
        """Quarantine a record as the router does."""
        cluster = self.pipelines.workspace.cluster("fronting")
        KafkaCluster(cluster).ensure_topic(f"{self.name}.quarantine", 1)
        way = ProducerSettings(properties_of(cluster.client_properties()), "lz4", 1_000_000)
        record = GivenMessage(
            RecordPosition(self.name, 1, number),
            AT_MS,
            event(number) if value is None else value,
            b"k",
            OWN,
        )
        quarantine = Quarantine(BulkProducer(way), f"{self.name}.quarantine")
        connector = f"{self.name}.{output}" if output else self.name
        quarantine.add(record, EVALUATING if output else READING, f"why {number}", connector)
        assert quarantine.producer.flush() == []

    def seen(self, output: str = "out") -> list[int]:
        known = KafkaCluster(self.pipelines.workspace.cluster("consumer")).topics()
        topic = f"{self.name}.{output}"
        seen = self.pipelines.seen(topic) if topic in known else []
        return sorted(json.loads(one.value or b"")["id"] for one in seen)

    def command(self, command: str, path: Path, *arguments: str) -> dict[str, Any]:
        done = invoke(command, path, *arguments, workspace=self.pipelines.workspace.root)
        found: dict[str, Any] = json.loads(done.stdout)
        return found

    def replay(self, path: Path, *arguments: str) -> dict[str, Any]:
        return self.command("quarantine replay", path, "--format", "json", *arguments)

    def run(self, path: Path, by_spark: BySpark, drain: Drain) -> ReplayReport:
        workspace = self.pipelines.workspace
        stream = effective(load_stream(path, workspace), workspace, None)
        return replay_quarantine(workspace, stream, Request(), by_spark, drain)


@pytest.fixture
def stream(workspace: Workspace, unique: Callable[[str], str]) -> Stream:
    pipelines, name = Pipelines(workspace), unique("kept")
    pipelines.make_topic(name, partitions=2)
    return Stream(pipelines, name)


def test_bad_records_are_listed_with_a_summary_first(stream: Stream) -> None:
    path = stream.write()
    empty = stream.command("quarantine list", path, "-o", "json")
    assert (empty["count"], empty["newest"]) == (0, [])
    for number in range(3):
        stream.keep(number)
    stream.keep(3, output="out", value=b"\xff\x00" * 100)
    stream.pipelines.send(f"{stream.name}.quarantine", [b"somebody else's"])
    found = stream.command("quarantine list", path, "-o", "json", "--limit", "2")
    assert (found["count"], found["others"]) == (4, 1)
    assert len(found["reasons"]) == 4
    assert [one["offset"] for one in found["newest"]] == [3, 2]
    newest = found["newest"][0]
    assert (newest["partition"], newest["stage"], newest["reason"]) == (1, EVALUATING, "why 3")
    assert (newest["timestamp_ms"], newest["size"]) == (AT_MS, 201)
    text = invoke("quarantine list", path, workspace=stream.pipelines.workspace.root).stdout
    assert "4 records, " in text
    assert f"{stream.name}-1 @ 3  2023-11-14T22:13:20.123000Z  201 bytes" in text
    assert "\\xff" in text


def test_mended_records_are_sent_once_as_what_they_were(stream: Stream) -> None:
    for number in (1, 2, 200):
        stream.keep(number)
    path = stream.write(hygiene=NOT_ABOVE_100)
    tried = stream.replay(path, "--dry-run")
    assert tried["outputs"]["out"]["replayed"] == 2
    assert stream.seen() == []
    found = stream.replay(path)
    assert found["outputs"]["out"]["replayed"] == 2
    assert found["outputs"]["out"]["still_bad"] == 1
    (reason,) = found["outputs"]["out"]["reasons"]
    assert "above the greatest value allowed" in reason["reason"]
    (one,) = (
        one
        for one in stream.pipelines.seen(f"{stream.name}.out")
        if json.loads(one.value or b"")["id"] == 1
    )
    assert one.headers == (*OWN, (contract.ORIGIN, f"{stream.name}/1/1/{AT_MS}".encode()))
    again = stream.replay(path)["outputs"]["out"]
    assert (again["replayed"], again["already"], again["still_bad"]) == (0, 2, 1)
    # What was still bad is looked at again.
    found = stream.replay(stream.write())["outputs"]["out"]
    assert (found["replayed"], found["already"]) == (1, 2)
    assert stream.seen() == [1, 2, 200]


def test_a_record_goes_to_the_outputs_that_it_failed_for(stream: Stream) -> None:
    stream.keep(1)
    stream.keep(2, output="two")
    path = stream.write({"name": "one"}, {"name": "two", "filter": "id > 1"})
    only = stream.replay(path, "--output", "two")["outputs"]
    assert only.keys() == {"two"}
    assert (only["two"]["replayed"], only["two"]["filtered"]) == (1, 1)
    assert stream.replay(path)["outputs"]["one"]["replayed"] == 1
    assert (stream.seen("one"), stream.seen("two")) == ([1], [2])


def test_what_a_topic_refuses_stays(stream: Stream) -> None:
    kafka = KafkaCluster(stream.pipelines.workspace.cluster("consumer"))
    kafka.ensure_topic(f"{stream.name}.out", settings={"max.message.bytes": "10000"})
    large = event(1, kind=os.urandom(20_000).hex())
    stream.keep(1, value=large)
    stream.keep(2)
    found = stream.replay(stream.write())["outputs"]["out"]
    assert (found["replayed"], found["still_bad"]) == (1, 1)
    assert stream.seen() == [2]


def test_a_second_replay_and_a_table_are_refused(stream: Stream) -> None:
    stream.keep(1)
    path = stream.write()
    lock = stream.pipelines.workspace.state_dir / "router" / stream.name / "quarantine/replay.lock"
    with hold(lock, "it", ""), pytest.raises(AlreadyRunning, match="a replay of the quarantine"):
        stream.replay(path)
    dropping = stream.write(hygiene={"on_bad_record": "drop"})
    with pytest.raises(UsageError, match="does not quarantine rejected records"):
        stream.replay(dropping)


def test_asked_to_drain_it_ends_after_the_records_at_hand(
    stream: Stream, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("router.quarantine.replay.MOST_RECORDS", 1)
    for number in range(3):
        stream.keep(number)
    path = stream.write()
    with Drain() as drain:
        os.kill(os.getpid(), signal.SIGTERM)
        report = stream.run(path, lambda *_: [], drain)
    assert report.drained
    assert report.outputs["out"].replayed == 1
    assert stream.replay(path)["outputs"]["out"]["replayed"] == 2
    assert stream.seen() == [0, 1, 2]


def test_spark_evaluates_what_only_it_can(stream: Stream, spark: SparkSession) -> None:
    def by_spark(*given: Any) -> Any:  # noqa: ANN401 - as the session takes it
        return spark_outcomes(spark, *given)

    for number in range(3):
        stream.keep(number)
    odd: dict[str, object] = {
        "name": "odd",
        "filter": "xxhash64(id) is not null and id > 0",
        "project": ["id", "soundex(kind) AS sound", "1 div (id - 1) AS share"],
        "sink": {"key": "id"},
    }
    path = stream.write(odd)
    workspace = stream.pipelines.workspace
    plan = Planner(workspace, effective(load_stream(path, workspace), workspace, None)).plan()
    given = [(1, GivenMessage(RecordPosition(stream.name, 0, 5), AT_MS, event(2), None, OWN))]
    explained = explain(plan, given, by_spark)
    assert "soundex" in (explained.evaluations[0].reason or "")
    origin = (contract.ORIGIN, f"{stream.name}/0/5/{AT_MS}".encode())
    assert explained.records[0][1].outcomes["odd"] == Passed(
        b'{"id":2,"sound":"S363","share":1}', b"2", [*OWN, origin]
    )
    tally = stream.run(path, by_spark, Drain()).outputs["odd"]
    assert (tally.replayed, tally.filtered, tally.still_bad) == (1, 1, 1)
    assert stream.seen("odd") == [2]
