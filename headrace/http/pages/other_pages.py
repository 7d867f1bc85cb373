"""The page of a quarantine."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from headrace.errors import HeadraceError
from headrace.http.pages.parts import Page, Part
from headrace.http.pages.templates import render

if TYPE_CHECKING:
    from headrace.http.board import Facts
    from headrace.http.detail_rows import QuarantineRow, QuarantineTrial
    from headrace.http.pages.snapshot import Snapshot


@dataclass(frozen=True, slots=True)
class QuarantineView:
    """A quarantine, for programs; `problem` says why it could not be read."""

    stream: str
    quarantine: QuarantineRow | None
    problem: str | None = None
    advice: str | None = None
    trial: QuarantineTrial | None = None


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
