"""`headrace rewind`: takes an application back to an earlier batch."""

from __future__ import annotations

from typing import TYPE_CHECKING

import rich_click as click

from headrace.cli.command import log_option, output_option, workspace_option
from stream_app.cli import app_option

if TYPE_CHECKING:
    from pathlib import Path


@click.command(name="rewind")
@app_option
@click.option(
    "--to",
    metavar="TIME|BATCH",
    help="A batch by its number, or a time: the newest batch that had begun by then.",
)
@click.option(
    "--list", "only_list", is_flag=True, help="Show the batches there are, as without --to."
)
@click.option("--dry-run", is_flag=True, help="Say what it would come to; change nothing.")
@click.option(
    "--allow-duplicates",
    is_flag=True,
    help="Where rows of later batches cannot be taken out of the table again, leave them there:"
    " they come once more.",
)
@workspace_option
@output_option
@log_option
def rewind_app(
    path: Path,
    to: str | None,
    *,
    only_list: bool,
    dry_run: bool,
    allow_duplicates: bool,
    workspace_dir: Path | None,
    as_json: bool,
) -> None:
    """Take an application back to an earlier batch of its own, its state included.

    A wrong version was deployed at ten. Stop the application, then:

        headrace rewind -c apps/rmi.yaml        # what there is to go back to
        headrace rewind -c apps/rmi.yaml --to 2026-11-18T10:00:00Z
        headrace run    -c apps/rmi.yaml        # the right version, from there

    What stands in the way is told before anything is changed: state that Spark has let go,
    records that Kafka has no more. Rows that later batches have appended to a table are taken out of it,
    as long as nobody has committed on top of them. What is cut is kept beside the checkpoint. Spark
    keeps a hundred batches; `spark.sql.streaming.minBatchesToRetain` under spark: conf keeps more.
    """
    from headrace.config.load import load_app, load_workspace
    from headrace.errors import UsageError
    from headrace.log import configure_logging
    from stream_app.rewind import report
    from stream_app.rewind.rewinding import Rewind, Wish, can_go_back_to, rewind

    configure_logging()
    if only_list and to is not None:
        raise UsageError("--list shows what there is, --to goes there", "choose one of them")
    workspace = load_workspace(workspace_dir)
    app = load_app(path, workspace)
    name = app.config.name
    if to is None:
        batches = can_go_back_to(app, workspace).batches
        click.echo((report.list_json if as_json else report.list_text)(name, batches))
        return

    def say(found: Rewind) -> None:
        if not as_json:
            click.echo(report.rewind_text(name, found))

    found = rewind(app, workspace, Wish(to, allow_duplicates, dry_run), say)
    if as_json:
        click.echo(report.rewind_json(name, found, done=not dry_run) if found else "{}")
    elif found is None:
        click.echo(f"application {name} is at that batch already: nothing was changed")
    elif not dry_run:
        click.echo(f"  what was cut is kept in {found.kept}\nstart it: headrace run -c {path}")
