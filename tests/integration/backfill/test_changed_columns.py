"""Files from before the table's columns were changed: each row once, however they are cut."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import pytest
from pyiceberg.types import ListType, LongType, NestedField, StringType, StructType

from backfill.streams import Replay
from headrace.errors import Terminal
from tests.integration.backfill.lake_tables import Stored, make_table

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pyiceberg.catalog import Catalog
    from pyiceberg.table import Table

    from headrace.config.workspace.workspace import Workspace

ROWS = 40
# Five rows a row group, a minute apart, in two files that overlap; some groups of one are wide.
EVEN = [Stored(0, n, n * 60.0) for n in range(ROWS)]
MIXED = [Stored(1, n, (n * 7 % ROWS) * 60.0) for n in range(ROWS)]


class Changed:
    """A table whose files are older than its columns."""

    def __init__(self, workspace: Workspace, catalog: Catalog, name: str) -> None:
        self._workspace = workspace
        self._catalog = catalog
        self.name = make_table(catalog, name, [EVEN, MIXED], 5)

    @property
    def table(self) -> Table:
        return self._catalog.load_table(tuple(self.name.split(".")[1:]))

    def rows(self, threshold: str, columns: Sequence[str] = ()) -> list[dict[str, object]]:
        replay = Replay(
            [self.name],
            "2026-03-01",
            "2026-03-02",
            max_misalignment=threshold,
            workspace=self._workspace.root,
        )
        assert replay.plan.rows == 2 * ROWS
        return [
            row
            for step in replay.steps(columns)
            for _, batch in step.batches()
            for row in batch.to_pylist()
        ]


@pytest.fixture
def changed(workspace: Workspace, lake_catalog: Catalog, unique: Callable[[str], str]) -> Changed:
    return Changed(workspace, lake_catalog, unique("changed"))


def places(rows: Sequence[dict[str, object]]) -> Counter[tuple[object, object]]:
    return Counter(
        (place["partition"], place["offset"])
        for row in rows
        if isinstance(place := row["__metadata__"], dict)
    )


ONCE = Counter((part, n) for part in range(2) for n in range(ROWS))


@pytest.mark.parametrize("threshold", ["1s", "2min", "5min", "10min", "1h"])
def test_a_column_that_was_added_is_null_in_the_rows_of_before(
    changed: Changed, threshold: str
) -> None:
    before = {row["id"]: row["items"] for row in changed.rows("1h")}
    with changed.table.update_schema() as update:
        update.add_column("note", StringType())
        sku = NestedField(1, "sku", StringType(), required=False)
        update.add_column("more", ListType(2, StructType(sku), element_required=False))
    for columns in ((), ("id",), ("note", "id")):
        rows = changed.rows(threshold, columns)
        assert places(rows) == ONCE
        assert all(row.get("note") is None and row.get("more") is None for row in rows)
        if not columns:
            assert {row["id"]: row["items"] for row in rows} == before


@pytest.mark.parametrize("threshold", ["1s", "5min", "10min"])
def test_a_column_that_was_renamed_or_widened_or_made_anew(
    changed: Changed, threshold: str
) -> None:
    with changed.table.update_schema() as update:
        update.rename_column("id", "number")
    rows = changed.rows(threshold, ("number",))
    assert places(rows) == ONCE
    assert sorted(int(str(row["number"])) for row in rows) == sorted([*range(ROWS)] * 2)
    with pytest.raises(Terminal, match="cannot be read exactly"):
        changed.rows(threshold)
    with changed.table.update_schema(allow_incompatible_changes=True) as update:
        update.delete_column("items")
    with changed.table.update_schema() as update:
        update.add_column("items", LongType())
    rows = changed.rows(threshold)
    assert places(rows) == ONCE
    # The same name, and not the column that the files have.
    assert all(row["items"] is None for row in rows)
