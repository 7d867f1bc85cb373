from __future__ import annotations

import http.server
import json
import sqlite3
import threading
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING, Any

import pytest

from benchmarks.connect import LOCK, worker_properties, worker_topics
from benchmarks.iceberg_connect import sink_connector
from benchmarks.lake import CATALOG, NAMESPACE, TABLE, Lake
from benchmarks.mirror_maker import mirror_connector, offset_syncs
from benchmarks.peers.connect_worker import Worker
from benchmarks.peers.iceberg_connect import committed, rows_of
from headrace.jars.lock import locked, parse

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

RUNS = ("001-one", "002-two")


def test_two_workers_of_one_broker_share_no_group_and_no_topic() -> None:
    first, second = (set(worker_properties("here:1", name, 8083).items()) for name in RUNS)
    shared = {key for key, _ in first & second}
    assert "group.id" not in shared
    assert not any(key.endswith("storage.topic") for key in shared)


def test_the_topics_of_a_worker_are_all_cleared_away() -> None:
    properties = worker_properties("here:1", "001-one", 8083)
    made = {value for key, value in properties.items() if key.endswith("storage.topic")}
    assert made == set(worker_topics("001-one"))


def test_a_worker_listens_on_the_loopback_only() -> None:
    assert worker_properties("here:1", "001-one", 8083)["listeners"] == "http://127.0.0.1:8083"


def test_the_mirror_copies_one_topic_with_the_batches_of_the_loop() -> None:
    settings = mirror_connector("here:1", "raw", "001-one").settings
    assert settings["topics"] == "raw"
    # The topic that it writes is named by the first, the one of its offsets by the second.
    assert settings["source.cluster.alias"] == "001-one"
    assert settings["target.cluster.alias"] in offset_syncs("001-one")
    assert settings["producer.override.compression.type"] == "lz4"
    assert settings["producer.override.batch.size"] == "1048576"


def test_the_sink_writes_the_table_of_its_run_and_where_each_record_was(tmp_path: Path) -> None:
    connector = sink_connector(Lake(tmp_path), "raw", "001-one", "control-1")
    settings = connector.settings
    assert settings["iceberg.catalog.uri"] == f"jdbc:sqlite:{tmp_path}/catalog.db"
    assert settings["iceberg.control.topic"] == "control-1"
    assert settings["iceberg.control.commit.interval-ms"] == "5000"
    assert settings["transforms.metadata.field_name"] == "__metadata__"
    assert connector.worker == {"offset.flush.interval.ms": "1000"}


def test_a_new_table_has_no_rows_and_no_files(tmp_path: Path) -> None:
    lake = Lake(tmp_path)
    lake.create_table()
    settings = {"catalog": str(lake.file), "name": [CATALOG, NAMESPACE, TABLE]}
    assert committed(settings)() == 0
    assert lake.data_files() == []
    with closing(sqlite3.connect(lake.file)) as catalog:
        assert catalog.execute("SELECT catalog_name FROM iceberg_tables").fetchall() == [
            ("iceberg",)
        ]


def test_the_rows_are_those_of_the_current_snapshot(tmp_path: Path) -> None:
    metadata = tmp_path / "00002.metadata.json"
    snapshots = [
        {"snapshot-id": 7, "summary": {"total-records": "3"}},
        {"snapshot-id": 8, "summary": {"total-records": "5"}},
    ]
    metadata.write_text(json.dumps({"current-snapshot-id": 8, "snapshots": snapshots}))
    assert rows_of(metadata) == 5


def test_the_lock_of_the_peers_is_whole_and_agrees_with_ours() -> None:
    jars = parse(LOCK.read_text(encoding="utf-8"))
    assert {jar.jar_set for jar in jars} == {"connect"}
    assert len({jar.file_name for jar in jars}) == len(jars) > 50
    # One cache holds them all, by file name.
    ours = {jar.file_name: jar.sha256 for name in ("spark", "broker") for jar in locked(name)}
    assert all(ours.get(jar.file_name, jar.sha256) == jar.sha256 for jar in jars)
    assert {jar.group for jar in jars if jar.artifact == "lz4-java"} == {"at.yawk.lz4"}


@contextmanager
def answering(status: dict[str, Any]) -> Iterator[str]:
    """Something that answers as a worker's REST interface does, whatever it is asked."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = json.dumps(status).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    with http.server.HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


def worker(tmp_path: Path, argv: list[str], address: str = "http://127.0.0.1:1") -> Worker:
    return Worker({"argv": argv, "address": address, "log": str(tmp_path / "worker.log")})


def test_a_task_that_failed_ends_the_run_with_its_reason(tmp_path: Path) -> None:
    failed = {"id": 1, "state": "FAILED", "trace": "no such table"}
    status = {"connector": {"state": "RUNNING"}, "tasks": [{"id": 0, "state": "RUNNING"}, failed]}
    with answering(status) as address, worker(tmp_path, ["sleep", "60"], address) as one:
        with pytest.raises(SystemExit, match="the connector failed: no such table"):
            one.require_running("it")
        failed["state"] = "RUNNING"
        one.require_running("it")


def test_a_worker_that_ends_is_told_with_its_last_words(tmp_path: Path) -> None:
    with (
        worker(tmp_path, ["sh", "-c", "echo out of memory; exit 1"]) as one,
        pytest.raises(SystemExit, match="the worker ended:\nout of memory"),
    ):
        one.wait_until_ready()
