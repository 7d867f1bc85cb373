"""A Kafka Connect worker as a competitor: its jars, its properties, its one connector."""

from __future__ import annotations

import os
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.peer import peer_command
from headrace.embedded.broker import HOST, free_port
from headrace.jars.cache import ensure_all
from headrace.jars.java import java
from headrace.jars.lock import parse

if TYPE_CHECKING:
    from collections.abc import Mapping

    from benchmarks.arena import Arena
    from benchmarks.measure import Command

LOCK = Path(__file__).with_name("jars.lock")
# As Kafka's own script starts a worker.
LEAST_HEAP_MB = 256
HEAP_MB = 2048
# One for each core, as everybody else here has them.
TASKS = 2
RECORDS_PER_POLL = 5000
INTERNAL_TOPICS = ("config", "offset", "status")


@dataclass(frozen=True, slots=True)
class Connector:
    """What a worker is asked to run."""

    name: str
    settings: Mapping[str, str]
    # What its worker is told beside what all workers are.
    worker: Mapping[str, str] = field(default_factory=dict)


def worker_properties(bootstrap_servers: str, name: str, port: int) -> dict[str, str]:
    """Return the properties of a worker that has its group and its topics for itself."""
    topics = {f"{kind}.storage.topic": topic_of(name, kind) for kind in INTERNAL_TOPICS}
    copies = {f"{kind}.storage.replication.factor": "1" for kind in INTERNAL_TOPICS}
    return {
        "bootstrap.servers": bootstrap_servers,
        "listeners": f"http://{HOST}:{port}",
        "group.id": name,
        "key.converter": "org.apache.kafka.connect.storage.StringConverter",
        "value.converter": "org.apache.kafka.connect.json.JsonConverter",
        "value.converter.schemas.enable": "false",
        **topics,
        **copies,
        # 25 and 5 by default, made anew for each run: a broker with two cores is slow at that.
        "offset.storage.partitions": "1",
        "status.storage.partitions": "1",
    }


def worker_topics(name: str) -> list[str]:
    """Return the topics that a worker leaves behind."""
    return [topic_of(name, kind) for kind in INTERNAL_TOPICS]


def topic_of(name: str, kind: str) -> str:
    """Return the name of one of them."""
    return f"connect-{name}-{kind}"


def connect_command(
    module: str,
    arena: Arena,
    folder: Path,
    connector: Connector,
    watched: Mapping[str, object],
) -> Command:
    """Return the command that runs a connector until all rows are where they shall be.

    It is warm when the worker answers, and has done what `watched` wants it to do `before`: the
    connector is made inside the measured time. `watched` says where the script finds how far it is.
    """
    port = free_port()
    properties = folder / "worker.properties"
    lines = {**worker_properties(arena.bootstrap_servers, connector.name, port), **connector.worker}
    text = "".join(f"{name}={value}\n" for name, value in lines.items())
    properties.write_text(text, encoding="utf-8")
    ready = folder / "ready.txt"
    settings = {
        "argv": java_command(folder, properties),
        "address": f"http://{HOST}:{port}",
        "log": str(folder / "worker.log"),
        "ready": str(ready),
        "connector": asked(connector),
        "rows": arena.loaded.rows,
        "before": None,
        **watched,
    }
    command = peer_command(module, settings, folder)
    return replace(command, warm=(ready, 1))


def asked(connector: Connector) -> dict[str, object]:
    """Return what a worker is sent to make a connector."""
    return {"name": connector.name, "config": connector.settings}


def java_command(folder: Path, properties: Path) -> list[str]:
    """Return the command of a worker; fetches its jars where they are not there yet."""
    classpath = os.pathsep.join(map(str, ensure_all(parse(LOCK.read_text(encoding="utf-8")))))
    return [
        java(),
        f"-Xms{LEAST_HEAP_MB}m",
        f"-Xmx{HEAP_MB}m",
        "-XX:+UseG1GC",
        "-Djava.awt.headless=true",
        "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn",
        # SQLite's library is unpacked there, and a worker that is killed leaves it.
        f"-Djava.io.tmpdir={folder}",
        "-cp",
        classpath,
        "org.apache.kafka.connect.cli.ConnectDistributed",
        str(properties),
    ]
