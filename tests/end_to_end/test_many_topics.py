"""One file for many topics: topics come, go and are broken while `headrace up` and `router start` run."""

from __future__ import annotations

import json
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest

from fleet.status import statuses
from headrace.embedded.process import wait_until
from headrace.iceberg.catalog import load_table
from headrace.kafka.groups import GroupOffsets
from headrace.kafka.sender import KafkaRecord, Sender
from tests.end_to_end.at_work import AtWork
from tests.end_to_end.commands import HEADRACE_YAML, run
from tests.limits import LIMIT_S
from tests.lineage_receiver import receiving
from tests.short_lived import SPARK_CONF

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from fleet.lines import StatusLine
    from headrace.embedded.broker import Broker
    from tests.lineage_receiver import Receiver
    from tests.registry_server import RegistryServer

FIELDS = [{"name": "id", "type": "long"}, {"name": "kind", "type": "string"}]
EVENT = {"type": "record", "name": "tv.Event", "fields": FIELDS}
PATTERN = r"PREFIX\.(?P<rest>[a-z-]+(\.x)?)"
STREAM = """\
kind: stream
name: PREFIX-${rest_}
for_each: {cluster: fronting, topics: 'PATTERN'}
source:
  {type: kafka, cluster: fronting, topic: "${topic}", format: json, schema: {registry: {url: "URL", subject: "${topic}-value"}}}
outputs:
  - name: starts
    filter: "kind = 'start'"
    sink: {type: kafka, cluster: consumer, topic: "${topic}.starts", format: json}
"""
TABLE = """\
kind: lake_table
name: ${topic_}
for_each: {cluster: fronting, topics: 'PATTERN'}
source: {type: kafka, format: json, schema: event.avsc}
table: {catalog: lake, database: tv, table: "${topic_}"}
hygiene: {quarantine: {cluster: fronting, topic: "${topic}.unlanded"}}
batch: {max_interval: 1s}
"""


@dataclass
class Ground(AtWork):
    """A workspace of files for many topics, and a command that runs over it."""

    prefix: str

    def fill_in(self, path: str, text: str, **words: str) -> None:
        """Write a file with the pattern, the prefix and these words in their places."""
        for word, value in {"PATTERN": PATTERN, "PREFIX": self.prefix, **words}.items():
            text = text.replace(word, value)
        self.write(path, text)

    def send(self, name: str, *kinds: str | None, partitions: int = 1) -> None:
        topic = f"{self.prefix}.{name}"
        self.kafka.ensure_topic(topic, partitions)
        sender = Sender(self.workspace.cluster("fronting"), topic)
        for number, kind in enumerate(kinds):
            value = b"no event" if kind is None else json.dumps({"id": number, "kind": kind})
            whole = value if isinstance(value, bytes) else value.encode()
            sender.send(KafkaRecord(whole, partition=number % partitions))
        sender.close()

    def topics(self) -> set[str]:
        return {one for one in self.kafka.topics() if self.prefix in one}

    def routed(self, name: str) -> int:
        topic = f"{self.prefix}.{name}.starts"
        return sum(1 for _ in self.kafka.records(topic)) if topic in self.topics() else 0

    def rejected(self, name: str, suffix: str) -> int:
        return sum(1 for _ in self.kafka.records(f"{self.prefix}.{name}.{suffix}"))

    def rows(self, name: str) -> int:
        table = load_table(self.workspace, f"lake.tv.{self.prefix}_{name}")
        return len(table.scan().to_arrow())

    def status(self) -> dict[str, StatusLine]:
        lines = statuses(self.workspace)
        return {f"{one.name}/{one.part or ''}".rstrip("/"): one for one in lines}

    @contextmanager
    def told_to(self, receiver: Receiver) -> Iterator[None]:
        """Let the commands report their runs."""
        file = self.root / "headrace.yaml"
        before = file.read_text()
        file.write_text(f"{before}lineage: {{url: '{receiver.url}'}}\n")
        yield
        file.write_text(before)

    def json(self, script: str, *words: str) -> tuple[int, Any]:
        done = run(script, *words, "-o", "json", cwd=self.root)
        return done.returncode, json.loads(done.stdout)


@pytest.fixture
def ground(tmp_path: Path, broker: Broker, unique: Callable[[str], str]) -> Ground:
    found = Ground(tmp_path / "ws", tmp_path / "log", unique("many"))
    text = HEADRACE_YAML.format(
        bootstrap=broker.bootstrap_servers, master="local[2]", short_lived=SPARK_CONF
    )
    found.write("headrace.yaml", text)
    found.write("event.avsc", json.dumps(EVENT))
    return found


def test_topics_come_go_and_are_broken_under_up(
    ground: Ground, registry_server: RegistryServer
) -> None:
    prefix = ground.prefix
    for name in ("plays", "pause-x", "later", "mended"):
        registry_server.put(f"{prefix}.{name}-value", EVENT)
    ground.fill_in("streams.yaml", STREAM, URL=registry_server.url)
    ground.fill_in("tables.yaml", TABLE)
    ground.send("plays", "start", "stop", None, "start", partitions=3)
    ground.send("pause-x", "start", None)
    ground.send("unknown", "start")
    with ground.at_work("headrace", "up"):
        ground.until(lambda: ground.routed("plays") == 2)
        ground.until(lambda: ground.routed("pause-x") == 1)
        # Its schema is missing in the registry: it rests alone.
        ground.until(lambda: "subject" in (_problem(ground, "unknown") or ""))
        assert ground.routed("unknown") == 0

        ground.send("later", "start", "start")
        ground.until(lambda: ground.routed("later") == 2)
        registry_server.put(f"{prefix}.unknown-value", EVENT)
        ground.until(lambda: ground.routed("unknown") == 1)

        ground.until(lambda: ground.status()[f"{prefix}_later"].lag == 0)
        # A topic that gives a name which another has already: that one goes on.
        ground.send("pause.x", "start")
        ground.until(lambda: ground.said(f"also that of topic {prefix}.pause.x"))
        ground.send("pause-x", "start")
        ground.until(lambda: ground.routed("pause-x") == 2)
        ground.kafka.delete_topic(f"{prefix}.pause.x")
        ground.until(lambda: not _is_broken(ground))

        ground.kafka.delete_topic(f"{prefix}.plays")
        ground.until(lambda: ground.log.read_text().count("stopping") == 2)
        ground.until(lambda: f"{prefix}-plays/starts" not in ground.status())
        ground.send("later", "start")
        ground.until(lambda: ground.routed("later") == 3)
        ground.until(lambda: ground.status()[f"{prefix}_later"].lag == 0)
        found = ground.status()
        assert {name for name, one in found.items() if one.state == "running"} == {
            f"{prefix}{name}"
            for stream in ("pause_x", "later", "unknown")
            for name in (f"-{stream}/starts", f"-{stream}/quarantine", f"_{stream}")
        }
        ground.end()

    _check_what_is_left(ground)
    _check_commands(ground)


def _check_what_is_left(ground: Ground) -> None:
    prefix = ground.prefix
    streams = ("plays", "pause_x", "later", "unknown")
    # Positions and what was written stay, also of the topic that is gone.
    assert {one for one in ground.topics() if one.endswith(".ledger")} == {
        f"headrace.{prefix}-{name}.ledger" for name in streams
    }
    assert {one for one in ground.topics() if not one.endswith(".ledger")} == {
        f"{prefix}.{name}{suffix}"
        for name in ("plays", "pause-x", "later", "unknown")
        for suffix in ("", ".starts", ".quarantine", ".unlanded")
    } - {f"{prefix}.plays"}
    assert [ground.rejected(name, "quarantine") for name in ("plays", "pause-x", "later")] == [
        1,
        1,
        0,
    ]
    assert [ground.rejected(name, "unlanded") for name in ("plays", "pause-x", "later")] == [
        1,
        1,
        0,
    ]
    assert [ground.rows(name) for name in streams] == [3, 2, 3, 1]
    group = GroupOffsets(ground.workspace.cluster("fronting"), f"headrace.{prefix}-later.starts")
    assert group.committed(f"{prefix}.later", [0]) == {0: 3}
    group.close()


def _check_commands(ground: Ground) -> None:
    prefix = ground.prefix
    code, audits = ground.json("router", "audit", "-c", "streams.yaml")
    assert code == 0
    assert [(one["stream"], one["ok"], _written(one)) for one in audits["streams"]] == [
        (f"{prefix}-later", True, 3),
        (f"{prefix}-pause_x", True, 2),
        (f"{prefix}-unknown", True, 1),
    ]
    code, audits = ground.json("lake-writer", "audit", "-c", "tables.yaml")
    assert (code, [one["topic"] for one in audits["tables"]]) == (
        0,
        [f"{prefix}.{name}" for name in ("later", "pause-x", "unknown")],
    )
    topic = ("--topic", f"{prefix}.later")
    assert (
        ground.json("router", "audit", "-c", "streams.yaml", *topic)[1]["stream"]
        == f"{prefix}-later"
    )
    assert ground.json("lake-writer", "audit", "-c", "tables.yaml", *topic)[0] == 0
    shown = ground.json("router", "show", "-c", "streams.yaml", *topic)[1]
    assert shown["source.topic"]["value"] == f"{prefix}.later"
    listed = ground.json("headrace", "ls")[1]["declared"]
    assert {(one["kind"], one["name"]) for one in listed} == {
        ("stream", f"{prefix}-{name}") for name in ("later", "pause_x", "unknown")
    } | {("lake_table", f"{prefix}_{name}") for name in ("later", "pause_x", "unknown")}


def _problem(ground: Ground, name: str) -> str | None:
    line = ground.status().get(f"{ground.prefix}-{name}/starts")
    return None if line is None else line.problem


def _is_broken(ground: Ground) -> bool:
    return any(".yaml:" in (one.problem or "") for one in ground.status().values())


def _ends(receiver: Receiver) -> dict[str, tuple[str, int]]:
    """Return how the run of each job has ended, and how many rows its first output got."""
    ended = {one["job"]["name"]: one for one in receiver.events}
    return {
        name: (one["eventType"], one["outputs"][0]["outputFacets"]["outputStatistics"]["rowCount"])
        for name, one in ended.items()
    }


def _written(audit: dict[str, Any]) -> int:
    (starts,) = [one for one in audit["outputs"] if one["output"] == "starts"]
    return sum(one["written"] for one in starts["partitions"])


@pytest.mark.long
def test_one_file_alone_follows_its_topics(ground: Ground, registry_server: RegistryServer) -> None:
    prefix = ground.prefix
    registry_server.put(f"{prefix}.one-value", EVENT)
    registry_server.put(f"{prefix}.two-value", EVENT)
    ground.fill_in("streams.yaml", STREAM, URL=registry_server.url)
    listed = run("headrace", "ls", cwd=ground.root)
    assert "no topic matches" in listed.stdout
    with ground.at_work("router", "start", "-c", "streams.yaml"):
        ground.until(lambda: ground.said("no topic matches yet"))
        ground.send("one", "start")
        ground.until(lambda: ground.routed("one") == 1)
        ground.end()
    ground.send("one", "start", "stop")
    ground.send("two", "start")
    ground.send("three", "start")
    once = ("--once", "--format", "json", "--metrics-file", "router.prom")
    with receiving() as receiver, ground.told_to(receiver):
        done = run("router", "start", "-c", "streams.yaml", *once, cwd=ground.root)
    # One has no schema: it is named, and the others have had their turn.
    assert done.returncode == 1
    assert f"topic {prefix}.three" in done.stderr
    assert (ground.routed("one"), ground.routed("two")) == (2, 1)
    assert _ends(receiver) == {f"stream.{prefix}-{one}": ("COMPLETE", 1) for one in ("one", "two")}
    metrics = (ground.root / "router.prom").read_text()
    assert 'headrace_last_run_success{kind="stream",name="streams"} 0' in metrics
    assert metrics.count("headrace_records_out_total{") == 4
    ground.fill_in("tables.yaml", TABLE)
    words = ("--once", "--metrics-file", "lake.prom")
    with receiving() as receiver, ground.told_to(receiver):
        landed = run("lake-writer", "start", "-c", "tables.yaml", *words, cwd=ground.root)
    assert landed.returncode == 0, landed.stderr
    rows = {"one": 3, "two": 1, "three": 1}
    assert {name: ground.rows(name) for name in rows} == rows
    assert _ends(receiver) == {
        f"lake_table.{prefix}_{name}": ("COMPLETE", count) for name, count in rows.items()
    }
    metrics = (ground.root / "lake.prom").read_text()
    assert 'headrace_last_run_success{kind="lake_table",name="tables"} 1' in metrics
    for name, count in rows.items():
        assert f'headrace_committed_rows_total{{table="{prefix}_{name}"}} {count}' in metrics
    # A topic that is re-created is another one; its stream goes on in it when somebody says so.
    ground.kafka.delete_topic(f"{prefix}.one")
    assert wait_until(lambda: f"{prefix}.one" not in ground.topics(), LIMIT_S)
    ground.send("one", "start")
    assert "another topic" in (_problem(ground, "one") or "")
    again = ("--begin-again", "starts", "--begin-again", "quarantine")
    one = ("--topic", f"{prefix}.one", "--once")
    done = run("router", "start", "-c", "streams.yaml", *one, *again, cwd=ground.root)
    assert done.returncode == 0, done.stderr
    assert (ground.routed("one"), _problem(ground, "one")) == (3, None)
    needs = run("router", "show", "-c", "streams.yaml", cwd=ground.root)
    assert (needs.returncode, "name one of them: --topic" in needs.stderr) == (2, True)
