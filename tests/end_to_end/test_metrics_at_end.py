"""The metrics of commands that end, as node_exporter finds them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from prometheus_client.parser import text_string_to_metric_families

from headrace.config.load import load_workspace
from headrace.kafka.cluster import KafkaCluster
from headrace.kafka.sender import KafkaRecord, Sender
from tests.end_to_end.commands import run, write_workspace

if TYPE_CHECKING:
    from pathlib import Path

    from headrace.embedded.broker import Broker

NAME = "ended"
STREAM = ("-c", "streams/playback.yaml", "--once")


def values(file: Path) -> dict[tuple[str, str], float]:
    """Return the values by metric and output."""
    return {
        (one.name, one.labels.get("output", "")): one.value
        for family in text_string_to_metric_families(file.read_text())
        for one in family.samples
    }


def test_a_router_that_ends_leaves_its_metrics_and_one_that_fails_says_so(
    tmp_path: Path, broker: Broker
) -> None:
    root, file = write_workspace(tmp_path, NAME, broker.bootstrap_servers), tmp_path / "router.prom"
    # Its topic is not there.
    failed = run("router", "start", *STREAM, "--metrics-file", str(file), cwd=root)
    assert failed.returncode == 1, failed.stderr
    assert values(file)["headrace_last_run_success", ""] == 0

    cluster = load_workspace(root).cluster("fronting")
    KafkaCluster(cluster).ensure_topic(f"{NAME}_raw", 2)
    sender = Sender(cluster, f"{NAME}_raw")
    for number, kind in enumerate(["start", "stop", "start"]):
        record = {"event_id": f"e{number}", "event_type": kind, "event_ts": "2026-03-01T00:00:00Z"}
        sender.send(KafkaRecord(json.dumps(record).encode()))
    sender.close()
    done = run("router", "start", *STREAM, "--metrics-file", str(file), cwd=root)
    assert done.returncode == 0, done.stderr
    found = values(file)
    assert found["headrace_last_run_success", ""] == 1
    assert found["headrace_records_in_total", "starts"] == 3
    assert found["headrace_records_out_total", "starts"] == 2
    assert found["headrace_source_lag_records", "starts"] == 0

    refused = run("router", "start", *STREAM, "--metrics-file", "router.txt", cwd=root)
    assert refused.returncode == 2
    assert "does not end in .prom" in refused.stderr
