"""`headrace init`: a new workspace."""

from __future__ import annotations

from pathlib import Path

import rich_click as click

from headrace.cli.command import log_option


@click.command()
@click.argument("directory", metavar="DIR", type=click.Path(path_type=Path))
@log_option
def init(directory: Path) -> None:
    """Make a new workspace in DIR: a stream, a lake table, three apps, records and tests.

    The apps are one of each kind: a query, a query with a function in Python, a program.

    Every file in it is short, works as it is, and is meant to be changed. Existing files are
    never written over.
    """
    from headrace.workspace_template import create_workspace

    files = create_workspace(directory)
    width = max(len(str(path)) for path in files)
    for path in files:
        click.echo(f"  {path!s:<{width}}  {path.stat().st_size:>6,} bytes")
    click.echo(f"\nA workspace in {directory}. Its README.md has the next commands.")
