"""`router`: runs a stream."""

from __future__ import annotations

from pathlib import Path

import rich_click as click

from headrace.cli.command import log_option, run, workspace_option


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="headrace")
def router() -> None:
    """Route a Kafka topic to others: filter, project, and lose nothing on the way."""


@router.command()
@click.option(
    "-c",
    "--config",
    "path",
    required=True,
    type=click.Path(path_type=Path, dir_okay=False),
    help="The stream's file (kind: stream).",
)
@click.option("--output", "outputs", multiple=True, help="Only this output. [default: all]")
@click.option("--region", help="Run the deployment of that name (overrides in the file).")
@click.option("--once", is_flag=True, help="Route what is there now, then end.")
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "json"]),
    default="text",
    show_default=True,
    help="How the counts are printed at the end.",
)
@workspace_option
@log_option
def start(
    path: Path,
    outputs: tuple[str, ...],
    region: str | None,
    *,
    once: bool,
    form: str,
    workspace_dir: Path | None,
) -> None:
    """Run the jobs of a stream until Ctrl-C.

    Every output has its own place in the topic, and (with isolation: output) a job of its own:
    a failing one holds up no other, and is started again, later each time. Ctrl-C or SIGTERM
    lets the batch at hand end; what was not read stays in Kafka and is read at the next start.
    Bad records go to the quarantine topic with the reason.

    The lag stands in Kafka under the consumer groups headrace.<stream>.<output>; what became of
    every record stands in the ledger, see router audit.
    """
    from headrace.config.effective import effective
    from headrace.config.load import load_stream, load_workspace
    from headrace.log import configure_logging
    from headrace.signals import Drain
    from headrace.spark import session
    from router.jobs import StreamRouter
    from router.report import as_json, as_text

    configure_logging()
    workspace = load_workspace(workspace_dir)
    stream = effective(load_stream(path, workspace), workspace, region)
    name = stream.config.name
    with Drain() as drain:
        stream_router = StreamRouter(workspace, stream, outputs)
        conf = stream_router.prepare()
        with session(workspace, f"router-{name}", conf) as spark:
            counts = stream_router.run(spark, drain, once=once)
    click.echo(as_json(name, counts) if form == "json" else as_text(name, counts))


def main() -> None:
    """Run `router` as a console script."""
    run(router, "router")
