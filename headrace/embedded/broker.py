"""A real Kafka broker in a process of its own: KRaft, one node, loopback, bounded heap."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Self
from uuid import UUID, uuid4

import structlog

from headrace.embedded import broker_files
from headrace.embedded.process import read_mark, start_tethered, stop_child, wait_until
from headrace.errors import Terminal, Transient
from headrace.jars.cache import ensure
from headrace.jars.java import java

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping
    from pathlib import Path

HOST = "127.0.0.1"
READY_LIMIT_S = 90.0
STOP_GRACE_S = 30.0
TRIES_FOR_A_FREE_PORT = 5
log = structlog.get_logger(__name__)


class PortInUse(Terminal):
    """A port that was asked for by number and is taken."""

    def __init__(self, port: int) -> None:
        super().__init__(
            f"port {port} on {HOST} is in use",
            "stop the program that uses it, or choose another port: --port N (0 takes a free one)",
        )


class BrokerFailed(Transient):
    """A broker that ended, or never answered."""

    def __init__(self, what: str, log_file: Path) -> None:
        reason = broker_files.last_error(log_file)
        if "No space left on device" in reason:
            super().__init__("the broker stopped: the disk is full", "free some space, start again")
        else:
            super().__init__(f"the broker {what}: {reason}", f"its log is {log_file}")


@dataclass(frozen=True, slots=True)
class BrokerOptions:
    """How a broker is to be run. Without ports it takes a free one, the same again if it can.

    One of several has the others' cluster id, the port of its own controller, and in `settings`
    what makes it one of them.
    """

    ports: tuple[int, ...] = ()
    heap_mb: int = 512
    partitions: int = 4
    java_options: tuple[str, ...] = ("-XX:+UseG1GC",)
    controller_port: int | None = None
    cluster_id: UUID = field(default_factory=uuid4)
    settings: Mapping[str, object] = field(default_factory=dict)


class Broker:
    """One broker over one state folder, started by `with`, stopped at its end."""

    def __init__(self, state_dir: Path, options: BrokerOptions | None = None) -> None:
        self._dir = state_dir.absolute()
        self._options = options or BrokerOptions()
        self._mark_file = self._dir / "process.json"
        self._child: subprocess.Popen[bytes] | None = None
        self.ports: tuple[int, ...] = ()

    @property
    def bootstrap_servers(self) -> str:
        """Where the broker answers."""
        return f"{HOST}:{self.ports[0]}"

    @property
    def log_file(self) -> Path:
        """The broker's own log."""
        return self._dir / "broker.log"

    @property
    def pid(self) -> int:
        """The broker's process id."""
        return self._running().pid

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def start(self, *, waits: bool = True) -> None:
        """Start, and return when the broker answers. Clears what an earlier start left running.

        One of several answers only once there are enough: those need not be waited for.
        """
        self._dir.mkdir(parents=True, exist_ok=True)
        last_ports = self.clear()
        for ports in self._choices(last_ports):
            self.ports = ports
            try:
                self._launch(ports)
                if waits:
                    self.wait_until_ready()
            except PortInUse:
                if self._options.ports:
                    raise
                continue
            except BaseException:
                self.stop()
                raise
            return
        raise PortInUse(self.ports[0])

    def wait_until_ready(self) -> None:
        """Return when the broker answers, or say why it does not."""
        from headrace.kafka.reachable import answers  # noqa: PLC0415 - librdkafka, only once it is needed

        child = self._running()

        def settled() -> bool:
            return child.poll() is not None or answers(self.bootstrap_servers)

        in_time = wait_until(settled, READY_LIMIT_S)
        if child.poll() is not None:
            if "Address already in use" in broker_files.last_error(self.log_file):
                raise PortInUse(self.ports[0])
            raise BrokerFailed("ended while it started", self.log_file)
        if not in_time:
            self.stop()
            raise BrokerFailed(f"did not answer within {READY_LIMIT_S:.0f} s", self.log_file)

    def stop(self) -> None:
        """Stop the broker in order, so that its next start is quick."""
        if self._child is not None:
            stop_child(self._child, STOP_GRACE_S)
            self._child = None

    def kill(self) -> None:
        """End the broker as a crash would."""
        child = self._running()
        child.kill()
        child.wait()
        self._child = None

    def require_alive(self) -> None:
        """Say why the broker has ended, if it has."""
        if self._running().poll() is not None:
            raise BrokerFailed("ended", self.log_file)

    def _running(self) -> subprocess.Popen[bytes]:
        if self._child is None:
            raise Terminal("the broker is not running")
        return self._child

    def clear(self) -> tuple[int, ...]:
        """Stop a broker that an earlier run left on this state; returns where it listened."""
        left = read_mark(self._mark_file)
        if left is None:
            return ()
        mark, facts = left
        if mark.alive:
            log.warning("stopping a broker that an earlier run left running", pid=mark.pid)
            mark.stop(STOP_GRACE_S)
        return tuple(facts.get("ports", ()))

    def _choices(self, last_ports: tuple[int, ...]) -> list[tuple[int, ...]]:
        if self._options.ports:
            return [self._options.ports]
        remembered = [last_ports] if last_ports else []
        return remembered + [(free_port(),) for _ in range(TRIES_FOR_A_FREE_PORT)]

    def _launch(self, ports: tuple[int, ...]) -> None:
        for port in ports:
            if is_taken(port):
                raise PortInUse(port)
        classpath = os.pathsep.join(str(jar) for jar in ensure("broker"))
        options = self._options
        controller_port = options.controller_port or free_port(besides=ports)
        files = broker_files.write(
            self._dir, ports, controller_port, options.partitions, options.settings
        )
        if not files.stamp.exists():
            self._format(classpath, files)
        self.log_file.unlink(missing_ok=True)
        command = [java(), f"-Xmx{options.heap_mb}m", f"-Xms{options.heap_mb // 4}m"]
        command += [
            *options.java_options,
            "-XX:MaxDirectMemorySize=256m",
            "-Djava.awt.headless=true",
        ]
        command += [f"-Dlog4j2.configurationFile={files.logging}", "-cp", classpath]
        command += ["kafka.Kafka", str(files.properties)]
        self._child, mark = start_tethered(command, self._dir / "broker.out", {})
        mark.write(self._mark_file, ports=ports)

    def _format(self, classpath: str, files: broker_files.BrokerFiles) -> None:
        shutil.rmtree(files.data, ignore_errors=True)
        command = [java(), "-Xmx128m", "-XX:TieredStopAtLevel=1", "-cp", classpath]
        command += [f"-Dlog4j2.configurationFile={files.logging}", "kafka.tools.StorageTool"]
        # With =: an id may begin with a dash, and would be taken for an option.
        cluster_id = f"--cluster-id={broker_files.cluster_id(self._options.cluster_id)}"
        command += ["format", cluster_id, "-c", str(files.properties)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            self.log_file.write_text(done.stdout + done.stderr, encoding="utf-8")
            raise BrokerFailed("could not prepare its storage", self.log_file)
        files.stamp.touch()


def free_port(besides: Collection[int] = ()) -> int:
    """Return a port that nothing listens on just now, and none of those that are spoken for."""
    while True:
        with socket.socket() as probe:
            probe.bind((HOST, 0))
            port: int = probe.getsockname()[1]
        # The kernel may well give the one again that it has just got back.
        if port not in besides:
            return port


def is_taken(port: int) -> bool:
    """Whether something already listens on that port of the loopback."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError:
            return True
    return False
