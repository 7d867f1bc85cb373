"""`headrace dev` under kills, freezes and damage: what it started does not stay, what it took does."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import psutil
import pytest

from headrace.config.workspace.workspace import Cluster
from headrace.embedded.process import wait_until
from headrace.kafka.cluster import KafkaCluster
from headrace.kafka.reachable import answers
from headrace.kafka.sender import KafkaRecord, Sender
from tests.limits import LIMIT_S

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

HEADRACE = Path(sys.executable).parent / "headrace"
START_LIMIT_S = 120.0


class Dev:
    """One `headrace dev`, as JSON."""

    def __init__(self, folder: Path, *arguments: str) -> None:
        self.process = subprocess.Popen(
            [str(HEADRACE), "dev", "-o", "json", *arguments],
            cwd=folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "JDK_JAVA_OPTIONS": "-XX:TieredStopAtLevel=1"},
            # As from a terminal: Ctrl-C goes to its group, and to no one else's.
            start_new_session=True,
        )
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line, self.process.communicate(timeout=LIMIT_S)[1]
        self.ready = json.loads(line)
        self.broker = psutil.Process(self.ready["broker_pid"])

    @property
    def cluster(self) -> Cluster:
        return Cluster("dev", self.ready["bootstrap_servers"], None, {})

    def end(self, number: signal.Signals) -> tuple[int, str]:
        """Send a signal to the whole group; returns exit code and stderr."""
        os.killpg(self.process.pid, number)
        return self.outcome()

    def kill(self) -> None:
        """End it as a crash would, without its broker."""
        self.process.kill()
        self.outcome()

    def outcome(self) -> tuple[int, str]:
        _, said = self.process.communicate(timeout=LIMIT_S)
        return self.process.returncode, said

    def broker_is_gone(self) -> bool:
        return not self.broker.is_running() or self.broker.status() == psutil.STATUS_ZOMBIE

    def clean_up(self) -> None:
        if self.process.poll() is None:
            self.process.terminate()
            self.process.communicate(timeout=LIMIT_S)
        with contextlib.suppress(psutil.NoSuchProcess):
            self.broker.kill()


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[..., Dev]]:
    """Start `headrace dev` in one folder; whatever a test leaves running is ended."""
    started: list[Dev] = []

    def begin(*arguments: str) -> Dev:
        dev = Dev(tmp_path, *arguments)
        started.append(dev)
        return dev

    yield begin
    for dev in started:
        dev.clean_up()


def refused(folder: Path, *arguments: str) -> tuple[int, str, str]:
    """Run a `headrace dev` that cannot start; returns exit code, stdout and stderr."""
    done = subprocess.run(
        [str(HEADRACE), "dev", *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=START_LIMIT_S,
        check=False,
    )
    assert "Traceback" not in done.stderr
    return done.returncode, done.stdout, done.stderr


def send(dev: Dev, *values: bytes) -> None:
    KafkaCluster(dev.cluster).ensure_topic("kept", 1)
    sender = Sender(dev.cluster, "kept")
    for value in values:
        sender.send(KafkaRecord(value))
    assert sender.close() == len(values)


def kept(dev: Dev) -> list[object]:
    return [message.value() for message in KafkaCluster(dev.cluster).records("kept")]


def test_killed_at_any_moment_it_leaves_no_broker_and_loses_no_record(
    start: Callable[..., Dev], tmp_path: Path
) -> None:
    first = start("--port", "0")
    assert answers(first.ready["bootstrap_servers"])
    assert first.ready["catalogs"]["lake"]["type"] == "sql"
    assert (tmp_path / ".headrace" / "catalog.db").is_file()
    send(first, b"1")

    # Ctrl-C: in order.
    code, said = first.end(signal.SIGINT)
    assert (code, first.broker_is_gone()) == (0, True), said
    assert "Traceback" not in said

    # kill -9: the broker hears of it from the kernel.
    second = start()
    assert kept(second) == [b"1"]
    send(second, b"2")
    second.kill()
    assert wait_until(second.broker_is_gone, LIMIT_S)

    # kill -9 while the broker is frozen, and hears nothing: the next start clears it.
    third = start()
    assert kept(third) == [b"1", b"2"]
    send(third, b"3")
    third.broker.suspend()
    third.kill()
    assert not third.broker_is_gone()
    fourth = start()
    assert third.broker_is_gone()
    assert kept(fourth) == [b"1", b"2", b"3"]

    # The second on one state is told who is there.
    code, out, said = refused(tmp_path)
    assert (code, out) == (1, "")
    here = f"pid {fourth.process.pid}, Kafka at {fourth.ready['bootstrap_servers']}"
    assert f"already runs ({here})" in said

    # SIGTERM, as a supervisor sends it; the address was the same all the time.
    code, said = fourth.end(signal.SIGTERM)
    assert (code, fourth.broker_is_gone()) == (0, True), said
    addresses = {dev.ready["bootstrap_servers"] for dev in (first, second, third, fourth)}
    assert len(addresses) == 1


def test_a_broker_that_dies_under_it_ends_it_with_a_sentence(start: Callable[..., Dev]) -> None:
    dev = start("--port", "0")
    dev.broker.kill()
    code, said = dev.outcome()
    assert code == 1
    assert "error: the broker ended" in said
    assert "Traceback" not in said


def test_ephemeral_leaves_nothing_even_after_a_kill(
    start: Callable[..., Dev], tmp_path: Path
) -> None:
    killed = start("--ephemeral")
    state = Path(killed.ready["state"])
    assert killed.ready["ephemeral"] is True
    assert state.is_dir()
    killed.kill()
    other = start("--ephemeral")
    assert killed.broker_is_gone()
    assert [one for one in state.parent.iterdir() if one.is_dir()] == [Path(other.ready["state"])]
    code, said = other.end(signal.SIGTERM)
    assert code == 0, said
    assert list(tmp_path.iterdir()) == []


def test_a_port_that_is_taken_is_named(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        code, out, said = refused(tmp_path, "--port", str(port))
    assert (code, out) == (1, "")
    assert f"error: port {port} on 127.0.0.1 is in use" in said


def test_words_that_do_not_go_together(tmp_path: Path) -> None:
    assert refused(tmp_path, "--once")[0] == 2
    assert refused(tmp_path, "--port", "70000")[0] == 2
    assert list(tmp_path.iterdir()) == []
