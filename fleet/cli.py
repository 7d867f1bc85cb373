"""`headrace up`, `ls`, `status` and `doctor`: a whole workspace."""

from __future__ import annotations

import gc
from typing import TYPE_CHECKING

import rich_click as click

from headrace.cli.command import (
    FAILED,
    command_options,
    log_option,
    output_option,
    show,
    with_workspace,
    workspace_option,
)
from headrace.cli.http_option import http_option, read_only_option

if TYPE_CHECKING:
    from pathlib import Path

    from headrace.config.workspace.workspace import Workspace
    from headrace.http.address import Address

WATCH_EVERY_S = 2.0
DEFAULT_HTTP = "127.0.0.1:8484"


@click.command()
@workspace_option
@output_option
def ls(workspace_dir: Path | None, *, as_json: bool) -> None:
    """List what the workspace declares: streams, lake tables and applications.

    Each has a line: its kind, its name, its file, what it reads, and where its records go. A file
    with a mistake is listed as broken, with its first mistake; `headrace validate` names them all.
    If a file is for many topics (`for_each`), each topic has a line; their cluster is asked which
    topics there are. Otherwise the command connects to nothing. It starts no JVM.

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


@click.command()
@click.option("--region", help="The deployment of the streams (overrides in their files).")
@click.option("--watch", is_flag=True, help="Print it again every two seconds, until Ctrl-C.")
@command_options
def status(workspace: Workspace, *, region: str | None, watch: bool, as_json: bool) -> int:
    """Show how everything in the workspace fares: state, lag, last batch, complete up to, problem.

    There is a line for each output of a stream, each lake table, each application and each replay.
    It tells what is true in Kafka (ledgers, consumer groups), in the tables and in the state of
    this host, whoever runs a job and wherever. A `headrace up` that runs here adds why a job of
    its own rests.

    States: `new` has never done anything; `running`; `stopped`; `complete` (a replay); `failed`
    has a problem. The lag is in records, of a replay in steps. Complete up to: every record that
    arrived before that time was processed; for a lake table it is what the table itself says.

    All clusters are asked at once. What needs a cluster that is away has failed; the others are
    not delayed by more than fifteen seconds. The exit code is 1 if anything has failed. The command
    changes nothing, and starts no JVM.

    For example: `headrace status -o json`
    """
    from fleet.lines import any_failed, as_text
    from fleet.status import statuses
    from headrace.signals import Drain

    with Drain() as drain:
        while True:
            lines = statuses(workspace, region)
            if watch and not as_json:
                click.clear()
            show([one.as_dict() for one in lines], as_text(lines), as_json=as_json)
            if not watch or drain.wait(WATCH_EVERY_S):
                return FAILED if any_failed(lines) else 0


@click.command()
@click.option("--region", help="Run this deployment of the streams (overrides in their files).")
@http_option(DEFAULT_HTTP)
@read_only_option()
@with_workspace
@log_option
def up(workspace: Workspace, region: str | None, http: Address | None, *, read_only: bool) -> None:
    """Run everything that the workspace declares, until Ctrl-C, and follow its files.

    All streams and lake tables share one process and one Spark query. An application has a process
    of its own, as `headrace run` has it; so has a stream whose deployment has Spark settings of its
    own. Applications whose file selects a table are left to `backfill replay`.

    A file that is new, changed or removed takes effect within seconds: its jobs finish what is at
    hand, and go on as the file is now, from where they were. A file with a mistake is named in the
    log, and its last good form goes on. A change of `clusters` in headrace.yaml takes effect in the
    same way; catalogs, Spark settings and state_dir do at the next start.

    If a file is for many topics (`for_each`), a new topic is read within seconds, and a topic that
    is removed is let go.

    A job that fails (a cluster is away, a schema is broken, a table is gone) rests and is tried
    again, later each time, at most a minute later. The others go on. `headrace status` names it, and
    so does the control room at http://127.0.0.1:8484 (docs/control-room.md), beside /readyz, /metrics
    and /api/v1 (docs/http.md). If that port is taken, and --http names no other, the log says so.

    Ctrl-C or SIGTERM lets the current batches finish; a second Ctrl-C ends the command at once,
    with exit code 130. Nothing is lost by that, nor by a kill: the next start goes on from the
    positions in Kafka and in the tables.

    For example: `headrace up --workspace plays`
    """
    from fleet.running import run_fleet
    from headrace.http.address import parse_address
    from headrace.http.board import Board
    from headrace.http.server import serving
    from headrace.signals import Drain

    address = http or parse_address(DEFAULT_HTTP)
    with (
        Drain() as drain,
        serving(
            address,
            board := Board("headrace up", drain, read_only=read_only),
            is_asked_for=http is not None,
        ) as served,
    ):
        run_fleet(workspace, region, board, click.echo, served=served)


@click.command()
@click.option("--region", help="The deployment of the streams (overrides in their files).")
@http_option(DEFAULT_HTTP)
@read_only_option()
@with_workspace
@log_option
def ui(workspace: Workspace, region: str | None, http: Address | None, *, read_only: bool) -> None:
    """Serve the control room of the workspace, until Ctrl-C. It runs nothing.

    It has the pages and the paths of `headrace up` (/livez, /readyz, /metrics, /api/v1), and tells
    what `headrace status` does: what is true in Kafka, in the tables and in the state of this host,
    whoever runs a job and wherever. Clusters are asked while somebody wants to know. Counters in
    /metrics are those of the ledgers.

    For example: `headrace ui --http 127.0.0.1:8485`, then open http://127.0.0.1:8485 in a browser
    """
    from fleet.acts import FleetActs
    from fleet.status_facts import StatusFacts
    from headrace.http.address import parse_address
    from headrace.http.board import Board
    from headrace.http.server import serving
    from headrace.signals import Drain

    with Drain() as drain:
        board = Board("headrace ui", drain, read_only=read_only)
        facts = StatusFacts(workspace, region)
        board.show(facts, FleetActs(workspace, quarantines=facts.quarantines))
        with serving(http or parse_address(DEFAULT_HTTP), board) as taken:
            click.echo(f"headrace ui serves http://{taken}; Ctrl-C ends it")
            while not drain.wait(WATCH_EVERY_S):
                pass
