"""The pages of a lake table, of an application and of a quarantine."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from headrace.errors import HeadraceError
from headrace.http.pages.overview import complete_until
from headrace.http.pages.parts import Page, Part
from headrace.http.pages.templates import render
from headrace.http.pages.troubles import troubles_in

if TYPE_CHECKING:
    from collections.abc import Sequence

    from headrace.http.board import Facts
    from headrace.http.detail_rows import DeclaredRow, QuarantineRow, QuarantineTrial
    from headrace.http.pages.snapshot import Snapshot
    from headrace.http.pages.troubles import Trouble
    from headrace.http.rows import AppRow, TableRow


@dataclass(frozen=True, slots=True)
class TableView:
    """A lake table, for programs."""

    table: TableRow
    file: DeclaredRow | None
    troubles: Sequence[Trouble]
    written_by: Sequence[str]
    read_by: Sequence[str]


@dataclass(frozen=True, slots=True)
class AppView:
    """An application, for programs."""

    app: AppRow
    file: DeclaredRow | None
    troubles: Sequence[Trouble]


@dataclass(frozen=True, slots=True)
class QuarantineView:
    """A quarantine, for programs; `problem` says why it could not be read."""

    stream: str
    quarantine: QuarantineRow | None
    problem: str | None = None
    advice: str | None = None
    trial: QuarantineTrial | None = None


def table_page(snapshot: Snapshot, name: str) -> Page | None:
    """Return the page of a lake table; None where there is none."""
    table = next((one for one in snapshot.tables if one.name == name), None)
    if table is None:
        return None
    file = snapshot.declared_as("lake_table", name)
    source = set() if file is None else set(file.sources)
    view = TableView(
        table,
        file,
        _troubles(snapshot, "lake_table", name),
        [one.name for one in snapshot.declared if one.kind == "stream" and source & {*one.targets}],
        [
            one.name
            for one in snapshot.declared
            if one.kind == "app" and f"iceberg:{table.table}" in one.sources
        ],
    )
    complete = complete_until(table.complete_up_to, snapshot.at)
    html = render("table.html", view=view, table=table, file=file, complete=complete)
    return Page(f"Lake table {name}", [Part("table", html)], view)


def app_page(snapshot: Snapshot, name: str) -> Page | None:
    """Return the page of an application; None where there is none."""
    app = next((one for one in snapshot.apps if one.name == name), None)
    if app is None:
        return None
    view = AppView(app, snapshot.declared_as("app", name), _troubles(snapshot, "app", name))
    html = render("app.html", view=view, app=app, file=view.file)
    return Page(f"Application {name}", [Part("app", html)], view)


def quarantine_page(
    facts: Facts, snapshot: Snapshot, name: str, *, tries: bool = False
) -> Page | None:
    """Return the page of a stream's quarantine; None where there is no such stream. It asks Kafka.

    If it `tries`, it shows what the stream would make of the records now.
    """
    if all(one.name != name for one in snapshot.streams):
        return None
    view = quarantine_view(facts, name, tries=tries)
    file = snapshot.declared_as("stream", name)
    html = render("quarantine.html", view=view, row=view.quarantine, file=file)
    return Page(f"Quarantine of {name}", [Part("quarantine", html)], view)


def quarantine_view(facts: Facts, name: str, *, tries: bool = False) -> QuarantineView:
    """Return a stream's rejected records, or why they could not be read."""
    try:
        trial = facts.try_quarantine(name) if tries else None
        return QuarantineView(name, facts.quarantine(name), trial=trial)
    except HeadraceError as problem:
        return QuarantineView(name, None, problem.message, problem.advice or None)


def _troubles(snapshot: Snapshot, kind: str, name: str) -> list[Trouble]:
    return [one for one in troubles_in(snapshot) if (one.kind, one.name) == (kind, name)]
