"""What `headrace dev` serves: one broker and the SQLite catalogs of a workspace."""

from __future__ import annotations

import contextlib
import os
import shutil
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import psutil

from headrace.config.workspace.file import CatalogConfig
from headrace.config.workspace.workspace import Catalog
from headrace.embedded.broker import Broker, BrokerOptions, is_taken
from headrace.iceberg.catalog import open_catalog, sqlite_file
from headrace.locks import describe, hold
from headrace.secret import Secret

if TYPE_CHECKING:
    from pathlib import Path
    from types import TracebackType

    from headrace.config.workspace.workspace import Workspace

KAFKA_PORT = 9092
STATE = ".headrace"
EPHEMERAL_PREFIX = "ephemeral-"
LOOPBACK = ("127.0.0.1", "localhost")


@dataclass(frozen=True, slots=True)
class DevOptions:
    """What was asked for on the command line."""

    ports: tuple[int, ...] = ()
    ephemeral: bool = False


class DevStack:
    """A broker and the embedded catalogs, started by `with`, stopped at its end."""

    broker: Broker

    def __init__(self, root: Path, workspace: Workspace | None, options: DevOptions) -> None:
        state = root / STATE
        self.ephemeral = options.ephemeral
        self.state = state / f"{EPHEMERAL_PREFIX}{os.getpid()}" if self.ephemeral else state
        self._stack = contextlib.ExitStack()
        self._ports = options.ports or _ports_of(workspace)
        self.catalogs = _embedded_catalogs(workspace, self.state)

    def __enter__(self) -> Self:
        with contextlib.ExitStack() as stack:
            _clear_ephemeral(self.state.parent if self.ephemeral else self.state)
            self.state.mkdir(parents=True, exist_ok=True)
            if self.ephemeral:
                stack.callback(_remove, self.state)
            what = f"headrace dev on {self.state}"
            advice = "use that one, stop it, or start another with --ephemeral"
            lock = stack.enter_context(hold(self.state / "dev.lock", what, advice))
            for catalog in self.catalogs:
                open_catalog(catalog).list_namespaces()
            self.broker = Broker(self.state / "broker", BrokerOptions(ports=self._choose_ports()))
            stack.enter_context(self.broker)
            describe(lock, f"pid {os.getpid()}, Kafka at {self.broker.bootstrap_servers}")
            self._stack = stack.pop_all()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stack.close()

    def _choose_ports(self) -> tuple[int, ...]:
        if self._ports == (0,):
            return ()
        if self._ports:
            return self._ports
        # Kafka's usual port where it is free; the broker itself remembers another choice.
        remembered = (self.state / "broker" / "process.json").exists()
        return () if self.ephemeral or remembered or is_taken(KAFKA_PORT) else (KAFKA_PORT,)


def _ports_of(workspace: Workspace | None) -> tuple[int, ...]:
    """Return the loopback ports that a workspace's clusters name."""
    if workspace is None:
        return ()
    ports = []
    for cluster in workspace.clusters.values():
        for server in cluster.bootstrap_servers.split(","):
            host, _, port = server.strip().rpartition(":")
            if host in LOOPBACK and port.isdigit():
                ports.append(int(port))
    return tuple(dict.fromkeys(ports))


def _embedded_catalogs(workspace: Workspace | None, state: Path) -> tuple[Catalog, ...]:
    """Return the workspace's SQLite catalogs, or one of our own outside a workspace."""
    if workspace is not None:
        return tuple(
            catalog
            for catalog in workspace.catalogs.values()
            if sqlite_file(catalog.properties()) is not None
        )
    config = CatalogConfig(
        type="sql",
        uri=Secret(f"sqlite:///{state / 'catalog.db'}"),
        warehouse=str(state / "warehouse"),
    )
    return (Catalog("lake", config, state.parent),)


def _remove(state: Path) -> None:
    shutil.rmtree(state, ignore_errors=True)
    # Not empty: somebody else's state is there, and stays.
    with contextlib.suppress(OSError):
        state.parent.rmdir()


def _clear_ephemeral(state: Path) -> None:
    """Remove what ephemeral stacks left that were killed."""
    for folder in state.glob(f"{EPHEMERAL_PREFIX}*"):
        pid = folder.name.removeprefix(EPHEMERAL_PREFIX)
        if pid.isdigit() and not psutil.pid_exists(int(pid)):
            Broker(folder / "broker").clear()
            shutil.rmtree(folder, ignore_errors=True)
