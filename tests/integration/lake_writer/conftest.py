"""A topic of the test's own, and the table that it lands in."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyiceberg.catalog import Catalog
    from pyiceberg.table import Table

    from tests.integration.pipelines import Pipelines


@pytest.fixture
def name(unique: Callable[[str], str], pipelines: Pipelines) -> str:
    """A topic of that name is there; a table is the test's to make."""
    chosen = unique("landed")
    pipelines.make_topic(chosen)
    return chosen


@pytest.fixture
def load(lake_catalog: Catalog, name: str) -> Callable[[], Table]:
    """Loads the table of that name as it is now."""
    return lambda: lake_catalog.load_table(("tv", name))
