"""The page of a lake table: complete until, costs, commits, files, maintenance, what is held."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from headrace.http.pages.charts import size_bars, span_bars
from headrace.http.pages.overview import complete_until
from headrace.http.pages.parts import Page, Part, empty
from headrace.http.pages.templates import render
from headrace.http.pages.troubles import troubles_in

if TYPE_CHECKING:
    from collections.abc import Sequence

    from headrace.http.board import Facts
    from headrace.http.detail_rows import DeclaredRow, LinkRow
    from headrace.http.pages.snapshot import Snapshot
    from headrace.http.pages.troubles import Trouble
    from headrace.http.rows import TableRow
    from headrace.http.table_rows import TableDetail


@dataclass(frozen=True, slots=True)
class TableView:
    """A lake table, for programs."""

    table: TableRow
    file: DeclaredRow | None
    troubles: Sequence[Trouble]
    written_by: Sequence[str]
    read_by: Sequence[str]
    detail: TableDetail | None
    links: Sequence[LinkRow]


def table_page(facts: Facts, snapshot: Snapshot, name: str) -> Page | None:
    """Return the page; None where there is no such table. It may wait for the catalog."""
    table = next((one for one in snapshot.tables if one.name == name), None)
    if table is None:
        return None
    file = snapshot.declared_as("lake_table", name)
    source = set() if file is None else set(file.sources)
    detail = facts.table(name)
    view = TableView(
        table,
        file,
        [one for one in troubles_in(snapshot) if (one.kind, one.name) == ("lake_table", name)],
        [one.name for one in snapshot.declared if one.kind == "stream" and source & {*one.targets}],
        [
            one.name
            for one in snapshot.declared
            if one.kind == "app" and f"iceberg:{table.table}" in one.sources
        ],
        detail,
        facts.links("lake_table", name),
    )
    complete = complete_until(table.complete_up_to, snapshot.at)
    head = render("table.html", view=view, table=table, file=file, complete=complete, detail=detail)
    files = None if detail is None else detail.files
    values: dict[str, object] = {
        "detail": detail,
        "file": file,
        "table": table,
        "runs": {one.run_id for one in snapshot.replays},
        "by_size": [] if files is None else size_bars(files.by_size),
        "by_span": [] if files is None else span_bars(files.by_span, files.threshold_s),
    }
    is_known = detail is not None and detail.exists and detail.problem is None
    parts = [
        Part("table", head),
        *(
            Part(name, render(f"table_{name}.html", **values) if is_known else empty(name))
            for name in ("cost", "commits", "files", "upkeep")
        ),
        Part("further", render("table_further.html", **values, view=view)),
    ]
    return Page(f"Lake table {name}", parts, view)
