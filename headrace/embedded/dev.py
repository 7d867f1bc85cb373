"""What `headrace dev` serves: one broker and the SQLite catalogs of a workspace."""

from __future__ import annotations

import contextlib
import os
import shutil
from dataclasses import dataclass
from typing import TYPE_CHECKING

import psutil

from headrace.config.workspace.workspace import Catalog, CatalogConfig
from headrace.embedded.broker import Broker, BrokerOptions, is_taken
from headrace.iceberg.catalog import open_catalog, sqlite_file
from headrace.locks import describe, hold
from headrace.secret import Secret

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from headrace.config.workspace.workspace import Workspace

KAFKA_PORT = 9092
STATE = ".headrace"
EPHEMERAL_PREFIX = "ephemeral-"
LOOPBACK = ("127.0.0.1", "localhost")


@dataclass(frozen=True, slots=True)
class DevStack:
    """A broker and the embedded catalogs that run, and the folder of their state."""

    state: Path
    ephemeral: bool
    catalogs: tuple[Catalog, ...]
    broker: Broker


@contextlib.contextmanager
def dev_stack(
    root: Path,
    workspace: Workspace | None,
    ports: tuple[int, ...] = (),
    *,
    ephemeral: bool = False,
) -> Iterator[DevStack]:
    """Run a stack until the end of `with`; without ports, on those that the workspace names."""
    home = root / STATE
    state = home / f"{EPHEMERAL_PREFIX}{os.getpid()}" if ephemeral else home
    catalogs = _embedded_catalogs(workspace, state)
    with contextlib.ExitStack() as stack:
        _clear_ephemeral(home)
        state.mkdir(parents=True, exist_ok=True)
        if ephemeral:
            stack.callback(_remove, state)
        what = f"headrace dev on {state}"
        advice = "use that one, stop it, or start another with --ephemeral"
        lock = stack.enter_context(hold(state / "dev.lock", what, advice))
        for catalog in catalogs:
            open_catalog(catalog).list_namespaces()
        chosen = _choose_ports(ports or _ports_of(workspace), state, ephemeral=ephemeral)
        broker = stack.enter_context(Broker(state / "broker", BrokerOptions(ports=chosen)))
        describe(lock, f"pid {os.getpid()}, Kafka at {broker.bootstrap_servers}")
        yield DevStack(state, ephemeral, catalogs, broker)


def _choose_ports(wanted: tuple[int, ...], state: Path, *, ephemeral: bool) -> tuple[int, ...]:
    if wanted:
        return () if wanted == (0,) else wanted
    # Kafka's usual port where it is free; the broker itself remembers another choice.
    remembered = (state / "broker" / "process.json").exists()
    return () if ephemeral or remembered or is_taken(KAFKA_PORT) else (KAFKA_PORT,)


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
