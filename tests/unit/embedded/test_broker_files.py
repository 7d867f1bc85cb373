from __future__ import annotations

from typing import TYPE_CHECKING
from uuid import UUID

import pytest

from headrace.embedded import broker_files

if TYPE_CHECKING:
    from pathlib import Path

STACK = """\
2026-03-01 12:00:00,000 WARN SocketServer slow
2026-03-01 12:00:00,001 ERROR KafkaServer Fatal error during startup
org.apache.kafka.common.KafkaException: Socket server failed to bind to 127.0.0.1:9092
\tat kafka.network.Acceptor.openServerSocket(SocketServer.scala:1)
Caused by: java.net.BindException: Address already in use
\tat java.base/sun.nio.ch.Net.bind0(Native Method)
2026-03-01 12:00:00,002 INFO App info kafka.server for 1 unregistered
"""


@pytest.mark.parametrize(
    ("log", "reason"),
    [
        (STACK, "Caused by: java.net.BindException: Address already in use"),
        ("x ERROR LogManager Shutdown because all log dirs have failed\n", "x ERROR LogManager"),
        ("java.io.IOException: No space left on device\n", "No space left on device"),
        ("all is well\n", "its log has no reason"),
        ("", "its log has no reason"),
    ],
)
def test_the_last_cause_that_a_log_gives(tmp_path: Path, log: str, reason: str) -> None:
    file = tmp_path / "broker.log"
    file.write_text(log)
    assert reason in broker_files.last_error(file)


def test_what_the_jvm_printed_counts_where_there_is_no_log(tmp_path: Path) -> None:
    file = tmp_path / "broker.log"
    assert broker_files.last_error(file) == "its log has no reason"
    file.with_suffix(".out").write_bytes(b"\xff\nError: Could not find or load main class x\n")
    assert broker_files.last_error(file) == "Error: Could not find or load main class x"


def test_storage_counts_as_prepared_when_the_stamp_says_so(tmp_path: Path) -> None:
    files = broker_files.write(tmp_path, (1234, 1235), 1236, 4)
    files.data.mkdir()
    assert not files.stamp.exists()
    files.stamp.touch()
    assert broker_files.write(tmp_path, (1,), 2, 4).stamp.exists()


def test_the_broker_listens_on_the_loopback_alone(tmp_path: Path) -> None:
    files = broker_files.write(tmp_path, (1234, 1235), 1236, 4)
    lines = files.properties.read_text().splitlines()
    settings = dict(line.split("=", 1) for line in lines)
    listeners = settings["listeners"].split(",")
    assert [listener.split("//")[1] for listener in listeners] == [
        "127.0.0.1:1234",
        "127.0.0.1:1235",
        "127.0.0.1:1236",
    ]
    assert settings["advertised.listeners"].count("127.0.0.1:") == 2
    assert settings["log.dirs"] == str(files.data)


def test_a_cluster_id_as_kafka_writes_it() -> None:
    assert broker_files.cluster_id(UUID(int=0)) == "A" * 22
