"""`headrace top`."""

from __future__ import annotations

import sys
from functools import partial
from typing import TYPE_CHECKING

import rich_click as click

from headrace.cli.command import log_option, with_workspace

if TYPE_CHECKING:
    from headrace.config.workspace.workspace import Workspace


@click.command()
@click.option("--region", help="The deployment of the streams (overrides in their files).")
@click.option(
    "--http",
    metavar="HOST:PORT",
    help="Ask the command that serves there. [default: the `headrace up` of this workspace]",
)
@click.option("--once", is_flag=True, help="Print one frame, with all lines, and end.")
@with_workspace
@log_option
def top(workspace: Workspace, region: str | None, http: str | None, *, once: bool) -> None:
    """Watch how everything in the workspace fares, in the terminal, until q or Ctrl-C.

    There is a line for each output of a stream, each lake table, application and replay: its state,
    its rate (records a second, over the last ten seconds), its lag (records; of a replay, steps),
    and up to when it is complete. What has a problem comes first, with the problem in a sentence;
    then what is furthest behind. If there are more lines than the terminal has, the last line says
    how many, and whether any of them has a problem.

    The figures come from the `headrace up` of this workspace, if one runs on this host. --http names
    another command that serves HTTP; HEADRACE_HTTP_TOKEN is its token. If there is none, the command
    asks the clusters and tables itself, as `headrace status` does.

    If the output is no terminal, it prints one frame as columns, as --once does. The command
    changes nothing, and starts no JVM.

    For example: `headrace top --workspace plays`
    """
    from fleet.top.screen import Screen, one_frame
    from fleet.top.sources import read
    from headrace.http.address import parse_address
    from headrace.signals import Drain

    asked = None if http is None else parse_address(http)
    ask = partial(read, workspace, region, asked)
    with Drain(announces=False) as drain:
        if once or not sys.stdout.isatty():
            click.echo(one_frame(ask, drain))
        else:
            Screen(workspace.root.name, ask, drain).run()
