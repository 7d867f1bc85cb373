"""A table is complete up to a moment that moves on, also while nothing comes."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from headrace.embedded.process import wait_until
from headrace.iceberg.catalog import table_loader
from headrace.landing.completeness import completeness_property
from tests.integration.lake_writer.live_writer import live
from tests.integration.pipelines import Pipelines, event
from tests.limits import LIMIT_S

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import SparkSession


def test_an_idle_topic_is_complete_up_to_now(
    spark: SparkSession, pipelines: Pipelines, unique: Callable[[str], str]
) -> None:
    name = unique("idle")
    pipelines.make_topic(name, partitions=2)
    pipelines.send(name, map(event, range(10)))
    path = pipelines.table(name, name, batch={"max_interval": "100ms"})
    load = table_loader(pipelines.workspace, f"lake.tv.{name}")

    def complete() -> str:
        said = load().properties.get(completeness_property(name), "{}")
        return str(json.loads(said).get("time") or "")

    with live(pipelines, spark, path) as writer:
        assert wait_until(lambda: bool(complete()) or writer.ended(), LIMIT_S)
        snapshots, at_first = len(load().metadata.snapshots), complete()
        # Twice, for the first may have been seen before the batch, and told after it.
        for _ in range(2):
            before = complete()
            assert wait_until(lambda: complete() > before or writer.ended(), LIMIT_S)  # noqa: B023 - asked at once
        assert complete() > at_first
        assert len(load().metadata.snapshots) == snapshots == 1
