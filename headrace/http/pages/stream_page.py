"""The page of a stream: its ledger as an equation, what it runs with, and where to look further."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from headrace.contract import QUARANTINE
from headrace.http.pages.charts import columns_of
from headrace.http.pages.overview import complete_until
from headrace.http.pages.parts import Page, Part
from headrace.http.pages.templates import render
from headrace.http.pages.troubles import troubles_in

if TYPE_CHECKING:
    from collections.abc import Sequence

    from headrace.http.board import Facts
    from headrace.http.detail_rows import (
        DeclaredRow,
        LedgerBatch,
        LedgerHistory,
        LedgerRow,
        LinkRow,
        SettingRow,
    )
    from headrace.http.pages.charts import Columns
    from headrace.http.pages.snapshot import Snapshot
    from headrace.http.pages.troubles import Trouble
    from headrace.http.rows import OutputRow, StreamRow

NEWEST_BATCHES: Final = 8


@dataclass(frozen=True, slots=True)
class StreamView:
    """What the page shows, for programs."""

    stream: StreamRow
    file: DeclaredRow | None
    troubles: Sequence[Trouble]
    ledger: Sequence[LedgerRow]
    settings: Sequence[SettingRow]
    history: Sequence[LedgerHistory]
    links: Sequence[LinkRow]


def stream_page(facts: Facts, snapshot: Snapshot, name: str) -> Page | None:
    """Return the page; None where there is no such stream. It may wait for files and for Kafka."""
    stream = next((one for one in snapshot.streams if one.name == name), None)
    if stream is None:
        return None
    file = snapshot.declared_as("stream", name)
    troubles = [one for one in troubles_in(snapshot) if (one.kind, one.name) == ("stream", name)]
    view = StreamView(
        stream,
        file,
        troubles,
        facts.ledger(name) or (),
        facts.settings(name) or (),
        facts.history(name) or (),
        facts.links("stream", name),
    )
    rows = {one.name: one for one in stream.outputs}
    drawn = [_drawn(one) for one in view.history if one.batches]
    parts = [
        Part("head", _head(view, snapshot)),
        *(_ledger(one, rows.get(one.output), snapshot, view) for one in view.ledger),
        Part("history", render("history.html", drawn=drawn)),
        Part(
            "further",
            render(
                "stream_further.html",
                file=file,
                name=name,
                view=view,
                snapshot=snapshot,
                readers=_readers(snapshot, file),
            ),
        ),
        Part("settings", render("settings.html", settings=view.settings)),
    ]
    still = render("explain.html", name=name, records="", found=None, problem=None, advice=None)
    return Page(f"Stream {name}", parts, view, still=still)


def _head(view: StreamView, snapshot: Snapshot) -> str:
    values = {"stream": view.stream, "file": view.file, "troubles": view.troubles}
    return render("stream_head.html", **values, runs=snapshot.runs)


def _ledger(ledger: LedgerRow, row: OutputRow | None, snapshot: Snapshot, view: StreamView) -> Part:
    file = view.file
    targets = {} if file is None else dict(zip(file.outputs, file.targets, strict=False))
    target = targets.get(ledger.output) or (file.quarantine if file is not None else None)
    rate = snapshot.rates.get((view.stream.name, ledger.output))
    complete = None if row is None else complete_until(row.complete_up_to, snapshot.at)
    values = {
        "ledger": ledger,
        "row": row,
        "target": target,
        "rate": rate,
        "complete": complete,
        "terms": terms_of(ledger),
        "stream": view.stream.name,
    }
    return Part(f"ledger-{ledger.output}", render("ledger.html", **values))


@dataclass(frozen=True, slots=True)
class DrawnHistory:
    """The batches of an output as the page shows them; `is_bad`: of the quarantine."""

    history: LedgerHistory
    newest: Sequence[LedgerBatch]
    columns: Columns | None
    is_bad: bool


def _drawn(own: LedgerHistory) -> DrawnHistory:
    newest = own.batches[: -NEWEST_BATCHES - 1 : -1]
    return DrawnHistory(own, newest, columns_of(own.batches), own.output == QUARANTINE)


@dataclass(frozen=True, slots=True)
class Term:
    """A term of the equation, and its share of the whole, in thousandths from `begin`."""

    name: str
    many: int
    begin: int
    width: int


def terms_of(ledger: LedgerRow) -> list[Term]:
    """Return what became of the records that were read."""
    total = ledger.total
    dropped = sum(total.dropped.values())
    if ledger.output == QUARANTINE:
        named = [("accepted", total.filtered), ("dropped", dropped)]
    else:
        named = [
            ("written", total.written),
            ("filtered", total.filtered),
            ("dropped", dropped),
        ]
    named.append(("quarantined", total.quarantined))
    terms, done = [], 0
    for name, many in named:
        begin = 1000 * done // total.read if total.read else 0
        done += many
        end = 1000 * done // total.read if total.read else 0
        terms.append(Term(name, many, begin, end - begin))
    return terms


def _readers(snapshot: Snapshot, file: DeclaredRow | None) -> list[DeclaredRow]:
    """Return what reads the topics and tables that the stream writes."""
    targets = set() if file is None else set(file.targets)
    return [
        one
        for one in snapshot.declared
        if one.kind != "stream" and targets.intersection(one.sources)
    ]
