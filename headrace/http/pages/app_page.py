"""The page of an application: sources and positions, batches, state, late records, ways back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from headrace.http.pages.parts import Page, Part, empty
from headrace.http.pages.templates import render
from headrace.http.pages.troubles import troubles_in

if TYPE_CHECKING:
    from collections.abc import Sequence

    from headrace.http.app_rows import AppDetail
    from headrace.http.board import Facts
    from headrace.http.detail_rows import DeclaredRow, LinkRow
    from headrace.http.pages.snapshot import Snapshot
    from headrace.http.pages.troubles import Trouble
    from headrace.http.rows import AppRow


@dataclass(frozen=True, slots=True)
class AppView:
    """An application, for programs."""

    app: AppRow
    file: DeclaredRow | None
    troubles: Sequence[Trouble]
    detail: AppDetail | None
    links: Sequence[LinkRow]


def app_page(facts: Facts, snapshot: Snapshot, name: str) -> Page | None:
    """Return the page; None where there is no such application. It may wait for files."""
    app = next((one for one in snapshot.apps if one.name == name), None)
    if app is None:
        return None
    file = snapshot.declared_as("app", name)
    troubles = [one for one in troubles_in(snapshot) if (one.kind, one.name) == ("app", name)]
    view = AppView(app, file, troubles, facts.app(name), facts.links("app", name))
    positions = {one.source: one for one in view.detail.positions} if view.detail else {}
    values = {"view": view, "app": app, "file": file, "detail": view.detail}
    known = view.detail is not None
    parts = [
        Part("app", render("app.html", **values, positions=positions)),
        *(
            Part(name, render(f"app_{name}.html", **values) if known else empty(name))
            for name in ("batches", "rewinds")
        ),
        Part("further", render("app_further.html", **values)),
    ]
    return Page(f"Application {name}", parts, view)
