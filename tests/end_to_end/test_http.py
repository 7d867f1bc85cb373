"""`--http` on the commands as a user runs them: what it says is compared with what is in Kafka."""

from __future__ import annotations

import http.client
import http.server
import json
import re
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

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
from tests.prometheus_server import prometheus
from tests.short_lived import JAVA_OPTIONS
from tools.write_alert_rules import ALERTS, RULES
from tools.write_dashboards import DASHBOARDS

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.end_to_end.serving import Client, Running
    from tests.prometheus_server import Prometheus

STARTS, STOPS, INVALID = 31, 12, 5


@dataclass(frozen=True)
class Line:
    """A router and a lake writer at work, and the broker that a test may kill."""

    root: Path
    broker: Broker
    router: Running
    writer: Running
    not_ready_at_first: set[tuple[str, str | None]]


@pytest.fixture(scope="module")
def line(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Line]:
    """A stream and its table, with all that was sent."""
    folder = tmp_path_factory.mktemp("line")
    options = BrokerOptions(heap_mb=384, partitions=2, java_options=JAVA_OPTIONS)
    with Broker(folder / "broker", options) as broker:
        root = write_workspace(folder / "ws", "plays", broker.bootstrap_servers)
        with (root / "tables/starts.yaml").open("a") as table:
            table.write("batch: {max_interval: 1s}\n")
        send(root)
        KafkaCluster(load_workspace(root).cluster("consumer")).ensure_topic("plays_starts", 2)
        router_command = ("router", "start", "-c", "streams/playback.yaml")
        writer_command = ("lake-writer", "start", "-c", "tables/starts.yaml")
        with running(root, *router_command) as router, running(root, *writer_command) as writer:
            yield Line(root, broker, router, writer, router.not_ready())


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


def test_what_is_told_is_what_is_in_kafka_and_in_the_table(line: Line) -> None:
    router, writer = line.router, line.writer
    assert router.get("/livez") == (200, '{"status":"alive"}')
    assert ("router plays", None) in line.not_ready_at_first
    wait_until_done(line)
    assert (router.not_ready(), writer.not_ready()) == (set(), set())
    as_the_stream_is(line.root, router)
    as_the_table_is(line.root, writer)


def wait_until_done(line: Line) -> None:
    def is_done() -> bool:
        streams, tables = line.router.rows("streams"), line.writer.rows("tables")
        (stream,), (table,) = streams or [{}], tables or [{}]
        read = [one["read"] for one in stream.get("outputs", [])]
        return read == [STARTS + STOPS + INVALID] and table.get("rows") == STARTS

    assert wait_until(is_done, LIMIT_S)


def test_prometheus_finds_what_the_ledger_has(line: Line, tmp_path: Path) -> None:
    ports = [line.router.port, line.writer.port]
    wait_until_done(line)
    with prometheus(tmp_path / "prometheus", RULES, ports) as server:
        assert wait_until(lambda: server.targets() == [("up", "")] * 2, LIMIT_S), server.targets()
        ((output, _), table) = audited(line.root), "plays_starts"
        of = 'stream="plays",output="starts"'
        for expr, value in (
            (f"headrace_records_in_total{{{of}}}", of_all(output, "read")),
            (f"headrace_records_out_total{{{of}}}", of_all(output, "written")),
            (f"headrace_records_filtered_total{{{of}}}", of_all(output, "filtered")),
            (f"headrace_quarantined_total{{{of}}}", of_all(output, "quarantined")),
            (f'headrace_committed_rows_total{{table="{table}"}}', STARTS),
            ("count(headrace_job_up == 1)", 2),
        ):
            assert wait_until(partial(has_value, server, expr, value), LIMIT_S), expr
        quiet = {one.name: ("ok", "inactive") for one in ALERTS}
        assert wait_until(lambda: server.rules() == quiet, LIMIT_S), server.rules()
        as_the_dashboards_ask(server)


def as_the_dashboards_ask(server: Prometheus) -> None:
    """Every expression is one; those of streams and tables have values, but for what was not there."""
    for board in DASHBOARDS:
        for panel in board.panels:
            for query in panel.queries:
                expr = query.expr.replace("$__rate_interval", "1m")
                expr = re.sub(r"\$\w+", ".*", expr)
                has_values = board.name in {"stream", "lake-table"} and "dropped" not in expr
                if has_values and "> 0)" not in expr:
                    assert wait_until(partial(has_value, server, expr), LIMIT_S), expr
                else:
                    server.values(expr)


def has_value(server: Prometheus, expr: str, value: float | None = None) -> bool:
    values = server.values(expr)
    return bool(values) if value is None else values == [value]


def of_all(output: dict[str, Any], count: str) -> int:
    return sum(one[count] for one in output["partitions"])


def audited(root: Path) -> list[dict[str, Any]]:
    audit = run("router", "audit", "-c", "streams/playback.yaml", "-o", "json", cwd=root)
    found: list[dict[str, Any]] = json.loads(audit.stdout)["outputs"]
    return found


# The last one of these, because nothing comes back after it.
def test_a_broker_that_is_gone_is_named(line: Line) -> None:
    wait_until_done(line)
    assert line.writer.stop() == 0
    line.broker.kill()
    gone = {("plays", "starts"), ("plays", "quarantine")}
    router = line.router
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
    (in_ledger, _) = audited(root)
    assert of_all(in_ledger, "written") == output["written"]


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
