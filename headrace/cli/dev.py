"""`headrace dev`: the embedded stack in the foreground."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import rich_click as click

from headrace.cli.command import log_option, output_option, show, workspace_option

if TYPE_CHECKING:
    from headrace.config.workspace.workspace import Workspace
    from headrace.embedded.dev import DevStack

CHECK_EVERY_S = 0.5


@click.command()
@workspace_option
@click.option(
    "--port",
    "ports",
    type=click.IntRange(0, 65535),
    multiple=True,
    help="The loopback port of Kafka; 0 takes a free port."
    " [default: the loopback ports that headrace.yaml names, else 9092 if it is free]",
)
@click.option("--ephemeral", is_flag=True, help="Remove all state at the end.")
@click.option("--demo", is_flag=True, help="Send events through all stages and show the counts.")
@click.option("--once", is_flag=True, help="With --demo: stop when the demo has ended.")
@output_option
@log_option
def dev(
    workspace_dir: Path | None,
    ports: tuple[int, ...],
    *,
    ephemeral: bool,
    demo: bool,
    once: bool,
    as_json: bool,
) -> int:
    """Run a Kafka broker and an Iceberg catalog on this machine until Ctrl-C.

    Both are real. Kafka runs in its own process (KRaft, 512 MB of heap, loopback only). The
    Iceberg catalog is a SQL catalog on SQLite that Spark and Python share. Their state is under
    .headrace/, and the next start uses it again.
    """
    from headrace.embedded.dev import dev_stack
    from headrace.errors import UsageError
    from headrace.signals import Drain

    if once and not demo:
        raise UsageError("--once needs --demo", "headrace dev --demo --once")
    if demo:
        from headrace.demo.run import run_demo

        with Drain() as drain:
            base = (workspace_dir or Path.cwd()).absolute()
            return run_demo(base, drain, ephemeral=ephemeral, once=once)
    root, workspace = _root_and_workspace(workspace_dir)
    with Drain() as drain:
        with dev_stack(root, workspace, ports, ephemeral=ephemeral) as stack:
            show(_facts(stack), _as_text(stack), as_json=as_json)
            while not drain.wait(CHECK_EVERY_S):
                stack.broker.require_alive()
        return 0


def _root_and_workspace(directory: Path | None) -> tuple[Path, Workspace | None]:
    """Return the workspace that we serve; anywhere else, this folder."""
    from headrace.config.load import load_workspace, nearest_workspace

    here = (directory or Path.cwd()).absolute()
    if nearest_workspace(here) is None:
        return here, None
    workspace = load_workspace(directory)
    return workspace.root, workspace


def _facts(stack: DevStack) -> dict[str, object]:
    return {
        "bootstrap_servers": stack.broker.bootstrap_servers,
        "ports": list(stack.broker.ports),
        "catalogs": {catalog.name: catalog.shown_properties() for catalog in stack.catalogs},
        "state": str(stack.state),
        "ephemeral": stack.ephemeral,
        "pid": os.getpid(),
        "broker_pid": stack.broker.pid,
    }


def _as_text(stack: DevStack) -> str:
    lines = [("Kafka", ", ".join(f"127.0.0.1:{port}" for port in stack.broker.ports))]
    for catalog in stack.catalogs:
        properties = catalog.shown_properties()
        lines.append(("Catalog", f"{catalog.name}  {properties['uri']}"))
        lines.append(("", f"{'':{len(catalog.name)}}  {properties.get('warehouse', '')}"))
    kept = "removed at the end" if stack.ephemeral else "kept between runs"
    lines.append(("State", f"{stack.state} ({kept})"))
    shown = "\n".join(f"  {name:<8} {value}" for name, value in lines)
    return f"headrace dev is up\n{shown}\nCtrl-C stops all."
