"""`--http` on the commands as a user runs them: what it says is compared with what is in Kafka."""

from __future__ import annotations

import http.client
import http.server
import json
import re
from typing import TYPE_CHECKING

import pytest

from headrace.config.load import load_workspace
from headrace.embedded.broker import Broker, BrokerOptions
from headrace.embedded.process import wait_until
from headrace.iceberg.catalog import load_table
from headrace.kafka.cluster import KafkaCluster
from headrace.kafka.sender import KafkaRecord, Sender
from tests.end_to_end.commands import run, write_workspace
from tests.end_to_end.serving import running
from tests.limits import LIMIT_S
from tests.short_lived import JAVA_OPTIONS

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.end_to_end.serving import Client

STARTS, STOPS, INVALID = 31, 12, 5


@pytest.fixture
def own_broker(tmp_path: Path) -> Iterator[Broker]:
    """A broker that the test may kill."""
    options = BrokerOptions(heap_mb=384, partitions=2, java_options=JAVA_OPTIONS)
    with Broker(tmp_path / "broker", options) as found:
        yield found


def send(root: Path) -> None:
    cluster = load_workspace(root).cluster("fronting")
    KafkaCluster(cluster).ensure_topic("plays_raw", 2)
    sender = Sender(cluster, "plays_raw")
    events = [("start", STARTS), ("stop", STOPS)]
    good = [
        {"event_id": f"{kind}{number}", "event_type": kind, "event_ts": "2026-03-01T00:00:00Z"}
        for kind, many in events
        for number in range(many)
    ]
    for one in good:
        sender.send(KafkaRecord(json.dumps(one).encode()))
    for number in range(INVALID):
        sender.send(KafkaRecord(b"no json" if number % 2 else b'{"event_type": "start"}'))
    sender.close()


def test_what_is_told_is_what_is_in_kafka_and_in_the_table(
    tmp_path: Path, own_broker: Broker
) -> None:
    root = write_workspace(tmp_path / "ws", "plays", own_broker.bootstrap_servers)
    with (root / "tables/starts.yaml").open("a") as table:
        table.write("batch: {max_interval: 1s}\n")
    send(root)
    KafkaCluster(load_workspace(root).cluster("consumer")).ensure_topic("plays_starts", 2)
    router_command = ("router", "start", "-c", "streams/playback.yaml")
    writer_command = ("lake-writer", "start", "-c", "tables/starts.yaml")
    with running(root, *router_command) as router, running(root, *writer_command) as writer:
        assert router.get("/livez") == (200, '{"status":"alive"}')
        assert ("router plays", None) in router.not_ready()

        def is_done() -> bool:
            (stream,), (table,) = router.rows("streams") or [{}], writer.rows("tables") or [{}]
            read = [one["read"] for one in stream.get("outputs", [])]
            return read == [STARTS + STOPS + INVALID] and table.get("rows") == STARTS

        assert wait_until(is_done, LIMIT_S)
        assert (router.not_ready(), writer.not_ready()) == (set(), set())
        as_the_stream_is(root, router)
        as_the_table_is(root, writer)

        assert writer.stop() == 0

        own_broker.kill()
        gone = {("plays", "starts"), ("plays", "quarantine")}
        assert wait_until(lambda: router.not_ready() == gone, LIMIT_S)
        assert router.metrics()["headrace_job_up", "plays"] == 0
        ((stream,), status) = router.rows("streams"), router.get("/livez")[0]
        assert (stream["state"], stream["problem"] is None, status) == ("failed", False, 200)


def as_the_stream_is(root: Path, router: Client) -> None:
    kafka = KafkaCluster(load_workspace(root).cluster("fronting"))
    topics = ("plays_raw", "plays_starts", "plays_raw.quarantine")
    raw, starts, bad = (sum(1 for _ in kafka.records(topic)) for topic in topics)
    assert (raw, starts, bad) == (STARTS + STOPS + INVALID, STARTS, INVALID)
    ((stream,), found) = router.rows("streams"), router.metrics()
    (output,) = stream["outputs"]
    counts = {"read": raw, "written": starts, "filtered": STOPS, "dropped": 0, "quarantined": bad}
    said = {"name": "starts", "state": "running", "problem": None, "lag": 0, "lost": 0}
    assert re.fullmatch(r"2\d{3}-\d\d-\d\dT[\d:.]+Z", output.pop("complete_up_to"))
    assert output == {**said, **counts}
    for name, output_name, value in (
        ("records_in_total", "starts", raw),
        ("records_out_total", "starts", starts),
        ("records_filtered_total", "starts", STOPS),
        ("quarantined_total", "starts", bad),
        ("records_out_total", "quarantine", bad),
        ("source_lag_records", "starts", 0),
        ("ledger_gap_offsets", "starts", 0),
        ("job_up", "plays", 1),
    ):
        assert found[f"headrace_{name}", output_name] == value, name
    assert found["headrace_batch_duration_seconds_count", "starts"] >= 1
    audit = run("router", "audit", "-c", "streams/playback.yaml", "-o", "json", cwd=root)
    (audited, _) = json.loads(audit.stdout)["outputs"]
    assert sum(one["written"] for one in audited["partitions"]) == output["written"]


def as_the_table_is(root: Path, writer: Client) -> None:
    table = load_table(load_workspace(root), "lake.tv.starts")
    files = [one.file for one in table.scan().plan_files()]
    ((row,), found) = writer.rows("tables"), writer.metrics()
    assert (row["name"], row["table"], row["state"]) == (
        "plays_starts",
        "lake.tv.starts",
        "running",
    )
    assert (row["rows"], row["files"], row["lag"]) == (STARTS, len(files), 0)
    assert re.fullmatch(r"2\d{3}-\d\d-\d\dT[\d:.]+Z", row["last_commit"])
    for name, value in (
        ("committed_rows_total", STARTS),
        ("records_in_total", STARTS),
        ("committed_files_total", len(files)),
        ("committed_bytes_total", sum(one.file_size_in_bytes for one in files)),
        ("source_lag_records", 0),
    ):
        assert found[f"headrace_{name}", "plays_starts"] == value, name
    assert found["headrace_commit_duration_seconds_count", "plays_starts"] >= 1
    assert found["headrace_table_seconds_since_last_commit", "plays_starts"] >= 0


def test_an_address_that_is_taken_or_open_is_refused_before_anything_starts(tmp_path: Path) -> None:
    root = write_workspace(tmp_path, "plays", "127.0.0.1:1")
    command = ("router", "start", "-c", "streams/playback.yaml", "--http")
    opened = run(*command, "0.0.0.0:8484", cwd=root, HEADRACE_HTTP_TOKEN="")
    assert opened.returncode == 2
    assert "there is no token" in opened.stderr
    with http.server.HTTPServer(("127.0.0.1", 0), http.server.BaseHTTPRequestHandler) as other:
        taken = run(*command, f"127.0.0.1:{other.server_port}", cwd=root)
    assert taken.returncode == 1
    assert "cannot be listened on: Address already in use" in taken.stderr
    assert not (root / ".headrace").exists()
