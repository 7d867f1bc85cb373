"""Lookups: joined live as they are, and replayed as they were when the records arrived."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from backfill.apps.narrowing import query_of
from headrace.contract import INGESTION_TS
from headrace.embedded.process import wait_until
from headrace.errors import Terminal, UsageError
from headrace.testing import run_app
from tests.integration.app.lookups_stage import Stage, categories
from tests.integration.pipelines import Pipelines
from tests.limits import LIMIT_S

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyiceberg.catalog import Catalog
    from pyspark.sql import SparkSession

    from headrace.config.workspace.workspace import Workspace

BUILD = """
from pyspark.sql import functions as F

def build(sources):
    plays, titles, countries = sources["plays"], sources["titles"], sources["countries"]
    own, other = titles.alias("own"), titles.alias("other")
    return (
        plays.join(own, F.col("own.title_id") == F.col("id") % 2, "left")
        .join(other, F.col("other.title_id") == (F.col("id") + 1) % 2, "left")
        .join(countries.alias("c"), F.col("c.title_id") == F.col("id") % 2, "left")
        .selectExpr("id", "own.category", "other.category AS other", "c.category AS country")
    )
"""


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
    # In one file with the plays around it, and in the middle of a step.
    stage.play({2: noon_ms - 1, 3: noon_ms - 1, 5: noon_ms, 7: noon_ms + 1})
    live = categories(stage.run_live(app))
    assert live == {
        0: "drama",
        1: "comedy",
        2: "drama",
        3: "tragedy",
        5: "tragedy",
        7: "tragedy",
    }
    stage.land()
    rows, certificate = stage.replay(app)
    # The play of just before noon came to its live batch after noon.
    assert categories(rows) == {**live, 3: "comedy"}
    assert certificate.differences() == []
    (used,) = certificate.lookups
    assert len(used.snapshots) == 2
    assert not [tag for tag in stage.titles().metadata.refs if tag.startswith("headrace")]

    stage.lookups["titles"]["as_of"] = "today"
    rows, certificate = stage.replay(stage.app(suffix="_today"))
    assert categories(rows) == {**live, 1: "tragedy"}
    assert certificate.lookups[0].snapshots == used.snapshots[1:]


def test_a_job_that_runs_sees_a_title_change(stage: Stage) -> None:
    app = stage.app()
    now_ms = stage.say({1: "comedy"})
    stage.play({1: now_ms})
    with stage.running(app):
        assert wait_until(lambda: 1 in stage.rows(app), LIMIT_S)
        stage.say({1: "tragedy"})
        stage.play({3: now_ms})
        assert wait_until(lambda: 3 in stage.rows(app), LIMIT_S)
    assert categories(stage.rows(app)) == {1: "comedy", 3: "tragedy"}


def test_two_lookups_and_one_of_them_twice_are_each_of_the_same_time(
    stage: Stage, workspace: Workspace
) -> None:
    stage.lookups["countries"] = stage.lookup("countries")
    module = f"module_{stage.name}"
    (workspace.root / f"{module}.py").write_text(BUILD)
    app = stage.app(transform={"python": f"{module}:build"})
    stage.say({0: "even", 1: "odd"}, "countries")
    first_ms = stage.say({0: "drama", 1: "comedy"})
    stage.play({0: first_ms, 1: first_ms})
    second_ms = stage.say({0: "EVEN", 1: "ODD"}, "countries")
    stage.play({2: second_ms})
    third_ms = stage.say({0: "tragedy", 1: "tragedy"})
    stage.play({4: third_ms})
    stage.land()
    rows, certificate = stage.replay(app)
    assert rows == {
        0: {"category": "drama", "other": "comedy", "country": "even"},
        1: {"category": "comedy", "other": "drama", "country": "odd"},
        2: {"category": "drama", "other": "comedy", "country": "EVEN"},
        4: {"category": "tragedy", "other": "tragedy", "country": "EVEN"},
    }
    assert {one.name: len(one.snapshots) for one in certificate.lookups} == {
        "titles": 2,
        "countries": 2,
    }


def test_a_lookup_that_is_read_before_the_query_begins_is_of_no_time(
    stage: Stage, workspace: Workspace
) -> None:
    module = f"module_{stage.name}"
    (workspace.root / f"{module}.py").write_text(
        "def build(sources):\n"
        "    assert sources['titles'].count()\n"
        "    return sources['plays'].select('id')\n"
    )
    stage.say({1: "comedy"})
    app = stage.app(transform={"python": f"{module}:build"})
    with pytest.raises(Terminal, match="lookup titles was read outside of a batch"):
        stage.run_live(app)


def test_a_users_own_test_gives_the_rows_of_a_lookup(stage: Stage) -> None:
    path = stage.pipelines.workspace.root / f"{stage.name}.jsonl"
    path.write_text('{"id": 1, "kind": "play", "at": 0}\n{"id": 2, "kind": "play", "at": 0}\n')
    titles = stage.spark.createDataFrame([(1, "comedy")], "title_id long, category string")
    # No table of titles is there, and none is asked for.
    app = stage.app().path
    rows = run_app(stage.spark, app, {"plays": path}, lookups={"titles": titles})
    assert {row["id"]: row["category"] for row in rows} == {1: "comedy", 2: None}
    with pytest.raises(UsageError, match="looks up titles, but rows were given for nothing"):
        run_app(stage.spark, app, {"plays": path})


def test_a_lookup_of_one_state_may_be_collected_while_a_replay_is_built(
    stage: Stage, workspace: Workspace
) -> None:
    module = f"module_{stage.name}"
    (workspace.root / f"{module}.py").write_text(
        "def build(sources):\n"
        "    known = [row.title_id for row in sources['titles'].collect()]\n"
        "    return sources['plays'].where(sources['plays'].id.isin(known)).select('id')\n"
    )
    stage.play({1: stage.say({1: "comedy"})})
    stage.land()
    stage.lookups["titles"]["as_of"] = "today"
    app = stage.app(transform={"python": f"{module}:build"})
    (used,) = query_of(app, workspace, stage.spark, INGESTION_TS).uses.values()
    assert list(map(str, used.conditions)) == ["id = 1"]
    stage.lookups["titles"]["as_of"] = "replayed"
    app = stage.app(transform={"python": f"{module}:build"})
    with pytest.raises(Terminal, match="lookup titles was read outside of a batch"):
        query_of(app, workspace, stage.spark, INGESTION_TS)
