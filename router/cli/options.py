"""The options that commands of a stream share, as decorators."""

from __future__ import annotations

from functools import wraps
from typing import TYPE_CHECKING, Any

import rich_click as click

from headrace.cli.command import file_option, log_option, output_option, with_workspace
from headrace.cli.many_topics import topic_option

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from headrace.config.workspace.workspace import Workspace

config_option = file_option("stream's file (kind: stream)")
region_option = click.option(
    "--region", help="Use the settings of this deployment (overrides in the file)."
)


def with_stream(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add `--workspace` and `--topic`; call a command with the stream as a deployment runs it."""

    @wraps(command)
    def load(
        *,
        path: Path,
        workspace: Workspace,
        region: str | None,
        topic: str | None,
        **options: object,
    ) -> object:
        from headrace.config.load import load_stream
        from headrace.config.stream.effective import effective

        stream = effective(load_stream(path, workspace, topic), workspace, region)
        return command(workspace, stream, **options)

    return with_workspace(topic_option(load))


def stream_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options of most commands of a stream."""
    return config_option(region_option(output_option(with_stream(log_option(command)))))
