"""`headrace produce`: sends records from files."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import rich_click as click

from headrace.cli.command import command_options, show

if TYPE_CHECKING:
    from headrace.config.workspace.workspace import Workspace


@click.command()
@click.argument("files", nargs=-1, type=click.Path(path_type=Path, dir_okay=False, allow_dash=True))
@click.option("--cluster", required=True, help="The cluster's name in headrace.yaml.")
@click.option("--topic", required=True, help="The topic; it is created if it is missing.")
@click.option(
    "--envelope",
    is_flag=True,
    help="Each line is an object with key, value, headers and timestamp.",
)
@command_options
def produce(
    files: tuple[Path, ...],
    cluster: str,
    topic: str,
    *,
    envelope: bool,
    as_json: bool,
    workspace: Workspace,
) -> None:
    """Send records from JSON Lines files, or from stdin (-), to a topic.

    Without --envelope, each line is the value of one record and is sent unchanged. With it, each
    line is an object like
    {"key": "u1", "value": {…}, "headers": {"region": "eu"}, "timestamp": 1772323200000}.
    A key or value that is a text is sent as that text, null as null, anything else as JSON; bytes
    that are no text stand in base64 as key_base64 or value_base64. The timestamp is in milliseconds since the epoch, or ISO-8601. The cluster has acknowledged every
    record before the command ends. If a line cannot be sent, the command stops with its number.
    """
    from headrace.produce import send_files

    sent = send_files(files or (Path("-"),), workspace.cluster(cluster), topic, envelope=envelope)
    facts = {"cluster": cluster, "topic": topic, "sent": sent}
    show(facts, f"{sent:,} records sent to {topic}", as_json=as_json)
