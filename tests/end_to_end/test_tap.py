"""`headrace tap` on a terminal: what comes is shown, and Ctrl-C ends it with a count."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from headrace.config.load import load_workspace
from headrace.kafka.cluster import KafkaCluster
from headrace.kafka.sender import KafkaRecord, Sender
from tests.end_to_end.commands import run, write_workspace
from tests.end_to_end.terminal import terminal

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from headrace.embedded.broker import Broker


def test_ctrl_c_ends_it_with_a_count_and_the_fixture_can_be_sent(
    tmp_path: Path, broker: Broker, unique: Callable[[str], str]
) -> None:
    name = unique("tapped")
    root = write_workspace(tmp_path / "ws", name, broker.bootstrap_servers)
    cluster = load_workspace(root).cluster("fronting")
    KafkaCluster(cluster).ensure_topic(f"{name}_raw")
    start = {"event_id": "e1", "event_type": "start", "event_ts": "2026-03-01T00:00:00Z"}

    def send(*values: bytes) -> None:
        sender = Sender(cluster, f"{name}_raw")
        for value in values:
            sender.send(KafkaRecord(value))
        sender.close()

    send(json.dumps(start).encode())
    options = ("--from", "beginning", "--fixture", "seen.jsonl")
    with terminal("headrace", "tap", name, *options, cwd=root) as seen:
        assert seen.shows("written, key e1")
        send(b'{"event_type": "start"}')
        assert seen.shows("rejected: ")
        seen.interrupt()
        assert seen.ends() == 0
        assert seen.shows("2 records read, 2 shown, 2 written to seen.jsonl")
        assert b"what is at hand" not in seen.shown
    again = ("--envelope", "--cluster", "fronting", "--topic", f"{name}_again")
    sent = run("headrace", "produce", "seen.jsonl", *again, cwd=root)
    assert sent.returncode == 0, sent.stderr
    values = {one.value() for one in KafkaCluster(cluster).records(f"{name}_again")}
    assert values == {json.dumps(start).encode(), b'{"event_type": "start"}'}
