"""A commit over HTTP that was taken, and whose answer was lost on the way: it has landed once."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from pyiceberg.catalog import load_catalog

from headrace.landing.commit_state import Identity
from headrace.landing.commits import LostRace, TableBatch, TableCommits
from headrace.schema.iceberg import to_iceberg
from tests.integration.lake_writer.landing_table import NAME, RECORD, TOPIC, data_file, places
from tests.rest_catalog_server import RestCatalogServer

if TYPE_CHECKING:
    from pathlib import Path

    from pyiceberg.catalog import Catalog


def writer_over(catalog: Catalog, host: str) -> TableCommits:
    identity = Identity("w", TOPIC, host, 1, "2026-03-01T00:00:00.000Z")
    commits = TableCommits(lambda: catalog.load_table(NAME), "lake.tv.events", identity)
    commits.resume()
    return commits


def batch(catalog: Catalog, offsets: range) -> TableBatch:
    file = data_file(catalog.load_table(NAME), TOPIC, 0, offsets)
    return TableBatch([file], {0: offsets.start}, {0: offsets.stop})


def test_the_answer_to_a_commit_is_lost(tmp_path: Path) -> None:
    with RestCatalogServer(tmp_path) as server:
        catalog = load_catalog("lake", type="rest", **server.properties)
        catalog.create_namespace(NAME[0])
        catalog.create_table(NAME, to_iceberg(RECORD)[0], properties={"format-version": "2"})
        writer = writer_over(catalog, "here")
        for offsets in (range(10), range(10, 12)):
            server.lost_answers = 1
            writer.commit(batch(catalog, offsets))
            assert server.lost_answers == 0
        assert places(catalog.load_table(NAME)) == [(0, offset) for offset in range(12)]
        assert len(catalog.load_table(NAME).metadata.snapshots) == server.commits == 2


def test_two_writers_over_one_catalog(tmp_path: Path) -> None:
    with RestCatalogServer(tmp_path) as server:
        catalog = load_catalog("lake", type="rest", **server.properties)
        catalog.create_namespace(NAME[0])
        catalog.create_table(NAME, to_iceberg(RECORD)[0], properties={"format-version": "2"})
        first, second = (writer_over(catalog, host) for host in ("first", "second"))
        first.commit(batch(catalog, range(10)))
        with pytest.raises(LostRace, match="w on first"):
            second.commit(batch(catalog, range(7)))
        assert places(catalog.load_table(NAME)) == [(0, offset) for offset in range(10)]
