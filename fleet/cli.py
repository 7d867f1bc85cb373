"""`headrace ls` and `headrace doctor`: a whole workspace."""

from __future__ import annotations

import gc
from typing import TYPE_CHECKING

import rich_click as click

from headrace.cli.command import (
    FAILED,
    command_options,
    output_option,
    show,
    workspace_option,
)

if TYPE_CHECKING:
    from pathlib import Path

    from headrace.config.workspace.workspace import Workspace


@click.command()
@workspace_option
@output_option
def ls(workspace_dir: Path | None, *, as_json: bool) -> None:
    """List what the workspace declares: streams, lake tables and applications.

    Each has a line: its kind, its name, its file, what it reads, and where its records go. A file
    with a mistake is listed as broken, with its first mistake; `headrace validate` names them all.
    The command reads files only: it connects to nothing and starts no JVM.

    For example: `headrace ls -o json`
    """
    # A run this short leaves nothing to collect.
    gc.disable()
    from fleet.declared import as_dict, as_text, declaration
    from headrace.config.load import find_workspace

    found = declaration(find_workspace(workspace_dir))
    show(as_dict(found), as_text(found), as_json=as_json)


@click.command()
@command_options
def doctor(workspace: Workspace, *, as_json: bool) -> int:
    """Check that everything the workspace needs is there, and say why not.

    It looks at Java, the jars, the free disk space, and at each cluster, catalog, schema registry
    and search node that the workspace names. All are asked at once, and each has twelve seconds. If
    a cluster has the ledger of a stream, this machine's clock is compared with the brokers' clock.

    The exit code is 1 if anything is missing or was not reached. The command changes nothing, and
    starts no JVM.

    For example: `headrace doctor --workspace plays -o json`
    """
    from fleet.doctor import examine

    found = examine(workspace)
    ok = all(one.ok for one in found)
    facts = {"ok": ok, "checks": [one.as_dict() for one in found]}
    show(facts, "\n".join(one.as_text() for one in found), as_json=as_json)
    return 0 if ok else FAILED
