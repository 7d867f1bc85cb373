"""`--metrics-file` and `--metrics-push`: where the metrics of a command go when it ends."""

from __future__ import annotations

from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

import rich_click as click

from headrace.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable

    from headrace.metrics.at_end import MetricsAtEnd


def metrics_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add both options; the command gets them as `metrics`."""

    @wraps(command)
    def with_metrics(
        *words: object, metrics_file: Path | None, metrics_push: str | None, **options: object
    ) -> object:
        from headrace.metrics.at_end import MetricsAtEnd, require_file, require_url
        from headrace.secret import Secret

        metrics = MetricsAtEnd(
            None if metrics_file is None else require_file(metrics_file),
            None if metrics_push is None else require_url(Secret(metrics_push)),
        )
        return command(*words, metrics=metrics, **options)

    file = click.option(
        "--metrics-file",
        metavar="FILE.prom",
        type=click.Path(path_type=Path, dir_okay=False),
        help="At the end, also after a failure, write the metrics into this file: for the textfile "
        "collector of Prometheus's node_exporter.",
    )
    push = click.option(
        "--metrics-push",
        metavar="URL",
        # It may hold a password, which a list of processes would show.
        envvar="HEADRACE_METRICS_PUSH",
        show_envvar=True,
        help="At the end, also after a failure, push the metrics to this Pushgateway.",
    )
    return file(push(with_metrics))


def require_one_topic(metrics: MetricsAtEnd) -> None:
    """Refuse the options for a file for many topics: each would overwrite what another one wrote."""
    if metrics.is_asked_for:
        raise UsageError(
            "--metrics-file and --metrics-push are for one topic",
            "name it: --topic TOPIC; or let Prometheus ask headrace up",
        )
