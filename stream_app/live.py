"""Running an application on its live sources."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import structlog

from headrace.application.live import live_stream
from headrace.application.select import selected
from headrace.application.sinks import start
from headrace.application.transform import Sources, result_of, with_watermarks
from headrace.config.app import IcebergSource
from headrace.errors import UsageError
from headrace.locks import hold
from headrace.streaming import finish

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import SparkSession

    from headrace.config.app import KafkaTopics
    from headrace.config.load import LoadedApp
    from headrace.config.workspace import Workspace
    from headrace.signals import Drain

log = structlog.get_logger(__name__)


def live_sources(app: LoadedApp, choices: Mapping[str, str]) -> dict[str, KafkaTopics]:
    """Return the topics that each source reads, or say why one cannot be read live."""
    live: dict[str, KafkaTopics] = {}
    for name, source in selected(app.config, choices).items():
        if isinstance(source, IcebergSource):
            raise UsageError(
                f"{name} of {app.config.name} is set to the table {source.identifier}",
                "a table is read over a period: backfill replay -c … --start-ts … --end-ts …;"
                f" or select a live candidate: --select {name}=…",
            )
        live[name] = source
    return live


def run_live(  # noqa: PLR0913 - a run is made of these
    app: LoadedApp,
    workspace: Workspace,
    spark: SparkSession,
    live: Mapping[str, KafkaTopics],
    drain: Drain,
    *,
    once: bool,
) -> int:
    """Run until everything there is now is processed, or until asked to drain; rows read."""
    state = workspace.state_dir / "app" / app.config.name
    with hold(state / "lock", f"application {app.config.name}", "stop that one first"):
        frames = {
            name: live_stream(spark, workspace, source, app.schemas.get(_schema_name(app, source)))
            for name, source in live.items()
        }
        marked = with_watermarks(app, frames, timedelta(0))
        result = result_of(app, Sources(spark, marked), workspace.root)
        query = start(
            result, app.config.sink, workspace, app.config.name, state / "checkpoint", once=once
        )
        return finish(query, app.config.name, drain)


def _schema_name(app: LoadedApp, source: KafkaTopics) -> str:
    """Return the name under which a source's schema was read."""
    return next(name for name, one in app.config.sources.items() if one is source)
