"""Lookups: joined live as they are, and replayed as they were when the records arrived."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.integration.app.lookups_stage import Stage, categories
from tests.integration.pipelines import Pipelines

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyiceberg.catalog import Catalog
    from pyspark.sql import SparkSession

    from headrace.config.workspace import Workspace


@pytest.fixture
def stage(
    spark: SparkSession, workspace: Workspace, lake_catalog: Catalog, unique: Callable[[str], str]
) -> Stage:
    return Stage(spark, Pipelines(workspace), lake_catalog, unique("lookups"))


def test_a_change_at_noon_is_seen_live_and_again_when_it_is_replayed(stage: Stage) -> None:
    app = stage.app()
    morning_ms = stage.say({0: "drama", 1: "comedy"})
    stage.play({0: morning_ms, 1: morning_ms})
    stage.run_live(app)
    noon_ms = stage.say({0: "drama", 1: "tragedy"})
    # One file, one step: the change is inside of both.
    stage.play({3: noon_ms - 1, 5: noon_ms, 7: noon_ms + 1})
    live = categories(stage.run_live(app))
    assert live == {0: "drama", 1: "comedy", 3: "tragedy", 5: "tragedy", 7: "tragedy"}
    stage.land()
    rows, certificate = stage.replay(app)
    # The play of just before noon came to its live batch after noon.
    assert categories(rows) == {**live, 3: "comedy"}
    assert certificate.differences() == []
    (used,) = certificate.lookups
    assert len(used.snapshots) == 2
