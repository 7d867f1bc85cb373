"""`headrace init`: a new workspace."""

from __future__ import annotations

from pathlib import Path

import rich_click as click

from headrace.cli.command import log_option, output_option, show


@click.command()
@click.argument("directory", metavar="DIR", type=click.Path(path_type=Path))
@output_option
@log_option
def init(directory: Path, *, as_json: bool) -> None:
    """Create a workspace in DIR: a stream, a lake table, three applications, records and tests.

    The applications are one of each kind: a query, a query with a Python function, a Python
    program.

    Every file is short and works without changes; change them as you need. Existing files are
    never overwritten.
    """
    from headrace.demo.workspace_template import create_workspace

    files = create_workspace(directory)
    facts = {"directory": str(directory), "files": [str(path) for path in files]}
    width = max(len(str(path)) for path in files)
    lines = [f"  {path!s:<{width}}  {path.stat().st_size:>6,} bytes" for path in files]
    lines += ["", f"A workspace in {directory}. Its README.md has the next commands."]
    show(facts, "\n".join(lines), as_json=as_json)
