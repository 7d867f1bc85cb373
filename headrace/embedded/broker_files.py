"""The files around a broker: its properties, its logging, its data, what it said last."""

from __future__ import annotations

import base64
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path
    from uuid import UUID

MAX_RECORD_BYTES = 16 * 1024 * 1024

LOGGING = """\
status = error
appender.file.type = RollingFile
appender.file.name = file
appender.file.fileName = {folder}/broker.log
appender.file.filePattern = {folder}/broker.log.%i
appender.file.layout.type = PatternLayout
appender.file.layout.pattern = %d %p %c{{1}} %m%n
appender.file.policies.type = Policies
appender.file.policies.size.type = SizeBasedTriggeringPolicy
appender.file.policies.size.size = 16MB
appender.file.strategy.type = DefaultRolloverStrategy
appender.file.strategy.max = 2
rootLogger.level = warn
rootLogger.appenderRef.file.ref = file
"""


@dataclass(frozen=True, slots=True)
class BrokerFiles:
    """Where a broker's files lie."""

    properties: Path
    logging: Path
    data: Path

    @property
    def stamp(self) -> Path:
        """Says that the storage is prepared; written last, so a broken-off attempt starts again."""
        return self.data / ".formatted"


def write(
    folder: Path,
    ports: tuple[int, ...],
    controller_port: int,
    partitions: int,
    more: Mapping[str, object] | None = None,
) -> BrokerFiles:
    """Write the broker's properties, `more` over those of a broker alone, and logging."""
    files = BrokerFiles(folder / "server.properties", folder / "log4j2.properties", folder / "data")
    alone = properties(ports, controller_port, partitions)
    settings = {**alone, **(more or {}), "log.dirs": str(files.data)}
    lines = "".join(f"{name}={value}\n" for name, value in settings.items())
    files.properties.write_text(lines, encoding="utf-8")
    files.logging.write_text(LOGGING.format(folder=folder), encoding="utf-8")
    return files


def properties(ports: tuple[int, ...], controller_port: int, partitions: int) -> dict[str, object]:
    """Return what makes one broker a whole cluster on the loopback."""
    names = [f"LOOPBACK{number}" for number in range(len(ports))]
    addresses = [f"{name}://127.0.0.1:{port}" for name, port in zip(names, ports, strict=True)]
    controller = f"CONTROLLER://127.0.0.1:{controller_port}"
    return {
        "process.roles": "broker,controller",
        "node.id": 1,
        "controller.quorum.voters": f"1@127.0.0.1:{controller_port}",
        "listeners": ",".join((*addresses, controller)),
        "advertised.listeners": ",".join(addresses),
        "controller.listener.names": "CONTROLLER",
        "inter.broker.listener.name": names[0],
        "listener.security.protocol.map": ",".join(
            f"{name}:PLAINTEXT" for name in (*names, "CONTROLLER")
        ),
        "num.partitions": partitions,
        "offsets.topic.num.partitions": 1,
        "offsets.topic.replication.factor": 1,
        "transaction.state.log.num.partitions": 1,
        "transaction.state.log.replication.factor": 1,
        "transaction.state.log.min.isr": 1,
        "share.coordinator.state.topic.num.partitions": 1,
        "share.coordinator.state.topic.replication.factor": 1,
        "share.coordinator.state.topic.min.isr": 1,
        "group.initial.rebalance.delay.ms": 0,
        "log.cleaner.dedupe.buffer.size": 4 * 1024 * 1024,
        # Kafka expires by the records' own timestamps: last year's events would vanish at once.
        "log.retention.ms": -1,
        # A producer's clock may lie; a broker that refuses such records would hide the problem.
        "log.message.timestamp.after.max.ms": 2**63 - 1,
        "message.max.bytes": MAX_RECORD_BYTES,
        "replica.fetch.max.bytes": MAX_RECORD_BYTES,
    }


def cluster_id(uuid: UUID) -> str:
    """Write a UUID as Kafka does."""
    return base64.urlsafe_b64encode(uuid.bytes).rstrip(b"=").decode()


def last_error(log_file: Path) -> str:
    """Return the last thing that the log gives as a cause."""
    for candidate in (log_file, log_file.with_suffix(".out")):
        try:
            lines = candidate.read_text(encoding="utf-8", errors="replace").splitlines()
        except FileNotFoundError:
            continue
        causes = [
            line
            for line in lines
            if "Exception" in line or " ERROR " in line or " FATAL " in line or "Error:" in line
        ]
        if causes:
            root = [line for line in causes if line.startswith("Caused by:")]
            return (root or causes)[-1].strip()
    return "its log has no reason"
