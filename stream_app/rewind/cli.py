"""`headrace rewind`: takes an application back to an earlier batch."""

from __future__ import annotations

from typing import TYPE_CHECKING

import rich_click as click

from headrace.cli.command import app_option, command_options

if TYPE_CHECKING:
    from pathlib import Path

    from headrace.config.workspace.workspace import Workspace


@click.command(name="rewind")
@app_option
@click.option(
    "--to",
    metavar="TIME|BATCH",
    help="The number of a batch; or a time, which means the newest batch that had begun by then.",
)
@click.option(
    "--list", "only_list", is_flag=True, help="List the batches. The same as without --to."
)
@click.option("--dry-run", is_flag=True, help="Show what would happen; change nothing.")
@click.option(
    "--allow-duplicates",
    is_flag=True,
    help="If the rows of later batches cannot be removed from the table, leave them there. The next"
    " run adds them once more.",
)
@command_options
def rewind_app(
    path: Path,
    to: str | None,
    *,
    only_list: bool,
    dry_run: bool,
    allow_duplicates: bool,
    workspace: Workspace,
    as_json: bool,
) -> None:
    """Take an application back to one of its earlier batches, with its state and its results.

    Example: a wrong version was deployed at ten. Stop the application, then:

        headrace rewind -c apps/rmi.yaml        # lists the batches
        headrace rewind -c apps/rmi.yaml --to 2026-11-18T10:00:00Z
        headrace run    -c apps/rmi.yaml        # the right version, from there

    The command checks first whether it can go back, and reports what prevents it: state that Spark
    has deleted, or records that Kafka no longer has. Rows that later batches appended to a table
    are removed from it, if no other job has committed since. The old checkpoint is kept beside the
    new one. Spark keeps 100 batches; `spark.sql.streaming.minBatchesToRetain` under spark: conf
    keeps more.
    """
    from headrace.config.load import load_app
    from headrace.errors import UsageError
    from stream_app.rewind import rewinding
    from stream_app.rewind.rewinding import Rewind, RewindOptions, can_go_back_to, rewind

    if only_list and to is not None:
        raise UsageError("--list shows the batches, --to rewinds to one", "choose one of them")
    app = load_app(path, workspace)
    name = app.config.name
    if to is None:
        batches = can_go_back_to(app, workspace).batches
        click.echo((rewinding.list_json if as_json else rewinding.list_text)(name, batches))
        return

    def say(found: Rewind) -> None:
        if not as_json:
            click.echo(rewinding.rewind_text(name, found))

    found = rewind(app, workspace, RewindOptions(to, allow_duplicates, dry_run), say)
    if as_json:
        click.echo(rewinding.rewind_json(name, found, done=not dry_run) if found else "{}")
    elif found is None:
        click.echo(f"application {name} is already at that batch: nothing was changed")
    elif not dry_run:
        click.echo(f"  the removed state is kept in {found.kept}\nstart it: headrace run -c {path}")
