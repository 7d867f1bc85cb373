"""`headrace up` as a user runs it: files come, change, break, are mended and go while it runs."""

from __future__ import annotations

import json
import signal
from typing import TYPE_CHECKING, Any

import pytest

from headrace.config.load import load_lake_table, load_stream
from headrace.config.stream.effective import effective
from headrace.embedded.process import wait_until
from headrace.kafka.sender import KafkaRecord, Sender
from lake_writer.audit import audit as audit_table
from router.audit.audit import audit as audit_stream
from tests.end_to_end.at_work import AtWork
from tests.end_to_end.commands import HEADRACE_YAML, run
from tests.end_to_end.serving import Client, port_in, running
from tests.limits import LIMIT_S
from tests.short_lived import SPARK_CONF

if TYPE_CHECKING:
    import subprocess
    from contextlib import AbstractContextManager
    from pathlib import Path

    from headrace.embedded.broker import Broker

EVENT = json.dumps(
    {
        "type": "record",
        "name": "tv.Event",
        "fields": [{"name": "id", "type": "long"}, {"name": "kind", "type": "string"}],
    }
)
STREAM = """\
kind: stream
name: {name}
source: {{type: kafka, cluster: fronting, topic: {name}_raw, format: json, schema: schemas/event.avsc}}
outputs:
  - name: some
    filter: "kind = '{kind}'"
    sink: {{type: kafka, cluster: consumer, topic: {name}_some, format: json}}
"""
TABLE = """\
kind: lake_table
name: {name}
source: {{type: kafka, cluster: fronting, topic: {name}_raw, format: json, schema: schemas/event.avsc}}
table: {{catalog: lake, database: tv, table: {name}}}
batch: {{max_interval: 1s}}
"""
APP = """\
kind: app
name: counted
sources:
  live: {{type: kafka, cluster: fronting, topics: {name}_raw, format: json, schema: schemas/event.avsc}}
transform: {{sql: "SELECT id FROM live"}}
sink: {{type: jsonl, path: out}}
"""
AWAY = """\
  - name: away
    sink: {type: kafka, cluster: nowhere, topic: far_away, format: json}
"""
NOWHERE = '  nowhere: {{bootstrap_servers: "127.0.0.1:1"}}\ncatalogs:'


class Ground(AtWork):
    """A workspace, the broker behind it, and `headrace up` over it."""

    def stream(self, name: str, kind: str = "start") -> None:
        self.kafka.ensure_topic(f"{name}_raw", 2)
        self.write(f"streams/{name}.yaml", STREAM.format(name=name, kind=kind))

    def send(self, name: str, *kinds: str) -> None:
        sender = Sender(self.workspace.cluster("fronting"), f"{name}_raw")
        for number, kind in enumerate(kinds):
            sender.send(KafkaRecord(json.dumps({"id": number, "kind": kind}).encode()))
        sender.close()

    def routed(self, name: str) -> list[str]:
        """Return the kinds of the records that a stream has written, in any order."""
        kafka = self.kafka
        if f"{name}_some" not in kafka.topics():
            return []
        return sorted(
            json.loads(one.value() or b"")["kind"] for one in kafka.records(f"{name}_some")
        )

    def status(self) -> dict[str, dict[str, Any]]:
        done = run("headrace", "status", "-o", "json", cwd=self.root)
        lines = json.loads(done.stdout)
        return {f"{one['name']}/{one['output'] or ''}".rstrip("/"): one for one in lines}

    def top(self) -> dict[str, list[str]]:
        """Return the words of each line of the overview, in its order, by name."""
        done = run("headrace", "top", "--once", cwd=self.root)
        assert done.returncode == 0, done.stderr
        lines = [line.split() for line in done.stdout.splitlines()[1:]]
        return {line[1]: line for line in lines}

    def rows(self) -> int:
        """Return how many rows the application has written."""
        return sum(len(one.read_text().splitlines()) for one in self.root.glob("out/*.jsonl"))

    def up(self) -> AbstractContextManager[subprocess.Popen[bytes]]:
        return self.at_work("headrace", "up", "--http", "127.0.0.1:0")


@pytest.fixture
def ground(tmp_path: Path, broker: Broker) -> Ground:
    found = Ground(tmp_path / "ws", tmp_path / "up.log")
    text = HEADRACE_YAML.replace("catalogs:", NOWHERE, 1).format(
        bootstrap=broker.bootstrap_servers, master="local[2]", short_lived=SPARK_CONF
    )
    found.write("headrace.yaml", text)
    found.write("schemas/event.avsc", EVENT)
    return found


def test_files_come_change_break_and_go_while_it_runs(ground: Ground) -> None:
    for name in ("plays", "pauses"):
        ground.stream(name)
        ground.send(name, "start", "stop")
    # An output whose cluster is away, and a file that is broken, cost the others nothing.
    ground.stream("far")
    far = ground.root / "streams/far.yaml"
    far.write_text(far.read_text() + AWAY)
    ground.send("far", "start")
    ground.write("streams/spoilt.yaml", "kind: stream\nname: spoilt\n")
    ground.write("tables/plays.yaml", TABLE.format(name="plays"))
    with ground.up():
        ground.until(lambda: ground.routed("plays") == ["start"])
        ground.until(lambda: ground.routed("pauses") == ["start"])
        ground.until(lambda: ground.routed("far") == ["start"])
        assert ground.said("streams/spoilt.yaml:1:1:")

        ground.stream("added")
        ground.send("added", "start")
        ground.until(lambda: ground.routed("added") == ["start"])

        # Broken, its last good form goes on; mended, it goes on from there.
        ground.stream("pauses", kind="start' AND kimd = '")
        ground.until(lambda: ground.said("pauses.yaml:6:"))
        ground.send("pauses", "start", "stop")
        ground.until(lambda: ground.routed("pauses") == ["start", "start"])
        ground.stream("pauses", kind="stop")
        ground.until(lambda: ground.status()["pauses/some"]["state"] == "running")
        ground.until(lambda: ground.said("a file is good again"))
        ground.until(lambda: ground.log.read_text().count("starting") >= 6)
        ground.send("pauses", "start", "stop")
        ground.until(lambda: ground.routed("pauses") == ["start", "start", "stop"])

        ground.until(lambda: ground.status()["plays"]["lag"] == 0)
        found = ground.status()
        assert found["plays"]["state"] == "running"
        assert found["far/some"]["state"] == "running"
        assert found["far/away"]["state"] == "failed"
        assert "cluster nowhere" in found["far/away"]["problem"]
        as_it_is_told_over_http(ground)
        as_top_shows_it(ground)

        (ground.root / "streams" / "added.yaml").unlink()
        ground.until(lambda: ground.said("stopping"))
        ground.until(lambda: _is_let_go(ground, "added"))
        ground.send("added", "start")
        ground.send("plays", "start")
        ground.until(lambda: ground.routed("plays") == ["start", "start"])
        assert ground.routed("added") == ["start"]

        ground.end()
    # Nobody tells it any more: it asks by itself.
    assert {"far/away", "pauses/some", "plays/some", "plays"} <= ground.top().keys()
    workspace = ground.workspace
    for name in ("plays", "pauses"):
        stream = load_stream(ground.root / f"streams/{name}.yaml", workspace)
        assert audit_stream(workspace, effective(stream, workspace, None)).findings == []
    assert audit_table(workspace, load_lake_table(ground.root / "tables/plays.yaml", workspace)).ok


def as_it_is_told_over_http(ground: Ground) -> None:
    """What `headrace up` knows, and what `headrace ui` finds out, are both what is in Kafka."""
    up = Client(port_in(ground.log.read_text()) or 0)
    assert up.not_ready() == {("far", "away")}
    with running(ground.root, "headrace", "ui") as ui:
        assert ui.not_ready() == set()
        for one in (up, ui):
            streams = {stream["name"]: stream for stream in one.rows("streams")}
            outputs = {output["name"]: output for output in streams["far"]["outputs"]}
            assert (outputs["some"]["state"], outputs["away"]["state"]) == ("running", "failed")
            assert "cluster nowhere" in outputs["away"]["problem"]
            assert streams["far"]["problem"] == outputs["away"]["problem"]
            (some,) = streams["plays"]["outputs"]
            counts = {"read": 2, "written": 1, "filtered": 1, "dropped": 0, "quarantined": 0}
            assert {name: some[name] for name in counts} == counts
            (table,) = one.rows("tables")
            assert (table["table"], table["state"], table["rows"]) == (
                "lake.tv.plays",
                "running",
                2,
            )
            assert one.rows("apps") == one.rows("replays") == []
            metrics = one.metrics()
            assert metrics["headrace_job_up", "far"] == 0
            assert metrics["headrace_job_up", "plays"] == 1
            assert metrics["headrace_source_lag_records", "plays"] == 0
        assert ui.stop() == 0


def as_top_shows_it(ground: Ground) -> None:
    """What is wrong is first; it finds the `headrace up` of its workspace by itself."""
    found = ground.top()
    assert next(iter(found)) == "far/away"
    assert found["far/away"][2] == "failed"
    assert "cluster nowhere" in " ".join(found["far/away"])
    assert found["plays/some"][:5] == ["stream", "plays/some", "running", "0/s", "0"]
    assert found["plays"][:5] == ["table", "plays", "running", "0/s", "0"]


def _is_let_go(ground: Ground, name: str) -> bool:
    locks = (ground.root / ".headrace/state/router" / name).rglob("lock")
    return not any(lock.read_text() for lock in locks)


def test_an_application_has_a_process_of_its_own_that_ends_with_it(ground: Ground) -> None:
    ground.kafka.ensure_topic("counts_raw", 1)
    ground.write("apps/counted.yaml", APP.format(name="counts"))
    ground.send("counts", "start", "stop")
    with ground.up() as process:
        ground.until(lambda: ground.rows() == 2)
        ground.until(lambda: ground.status()["counted"]["lag"] == 0)
        assert ground.status()["counted"]["state"] == "running"
        second = run("headrace", "up", cwd=ground.root)
        assert second.returncode == 1
        assert "already runs" in second.stderr
        process.kill()
        assert process.wait(LIMIT_S) == -signal.SIGKILL
    assert wait_until(lambda: ground.status()["counted"]["state"] == "stopped", LIMIT_S)
    ground.send("counts", "start")
    with ground.up():
        ground.until(lambda: ground.rows() == 3)
        ground.end()
    assert ground.status()["counted"]["state"] == "stopped"


def test_a_second_ctrl_c_insists(ground: Ground) -> None:
    ground.stream("hurried")
    with ground.up() as process:
        ground.until(lambda: ground.said("starting Spark"))
        process.send_signal(signal.SIGINT)
        assert wait_until(lambda: ground.said("Ctrl-C again insists"), LIMIT_S)
        process.send_signal(signal.SIGINT)
        assert process.wait(LIMIT_S) in {0, 130}
