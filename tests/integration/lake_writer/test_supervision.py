"""A writer whose catalog is away for a while, or whose table is gone."""

from __future__ import annotations

import contextlib
import sqlite3
from typing import TYPE_CHECKING

import pytest
from structlog.testing import capture_logs

from headrace import contract
from headrace.config.load import load_workspace
from headrace.embedded.process import wait_until
from headrace.errors import TableMissing
from headrace.iceberg.catalog import open_catalog
from tests.integration.lake_writer.live_writer import live
from tests.integration.pipelines import Pipelines, event
from tests.limits import LIMIT_S

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pyspark.sql import SparkSession

AGAIN = "a job is restarted"


@pytest.fixture
def own(make_workspace: Callable[[], Path]) -> Pipelines:
    """A workspace with a catalog of the test's own: nobody else misses it."""
    return Pipelines(load_workspace(make_workspace()))


def test_a_catalog_that_is_away_for_a_while_ends_nothing(
    spark: SparkSession, own: Pipelines, unique: Callable[[str], str]
) -> None:
    name = unique("supervised")
    own.make_topic(name)
    path = own.table(name, name, batch={"max_interval": "200ms"})
    own.send(name, map(event, range(5)))
    catalog = open_catalog(own.workspace.catalog("lake"))

    def landed() -> int:
        table = catalog.load_table(("tv", name))
        return len(table.scan(selected_fields=(contract.OFFSET,)).to_arrow())

    with capture_logs() as said, live(own, spark, path):
        assert wait_until(lambda: landed() == 5, LIMIT_S)
        file = own.workspace.root / ".headrace" / "catalog.db"
        with contextlib.closing(sqlite3.connect(file, isolation_level=None)) as somebody:
            somebody.execute("BEGIN EXCLUSIVE")
            own.send(name, map(event, range(5, 9)))
            assert wait_until(lambda: AGAIN in {one["event"] for one in said}, LIMIT_S)
            somebody.execute("ROLLBACK")
        assert wait_until(lambda: landed() == 9, LIMIT_S)
    told = [one for one in said if one["event"] == AGAIN]
    assert "database is locked" in told[0]["reason"]


def test_a_table_that_is_gone_ends_it_with_the_reason(
    spark: SparkSession, own: Pipelines, unique: Callable[[str], str]
) -> None:
    name = unique("supervised")
    own.make_topic(name)
    path = own.table(name, name, batch={"max_interval": "200ms"})
    catalog = open_catalog(own.workspace.catalog("lake"))

    def run() -> None:
        with live(own, spark, path) as running:
            catalog.drop_table(("tv", name))
            own.send(name, [event(1)])
            assert wait_until(running.ended, LIMIT_S)

    with pytest.raises(TableMissing, match=f"there is no table lake.tv.{name}"):
        run()
