"""Pages that follow what happens while somebody has them open."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final
from urllib.parse import quote, unquote, urlencode

from headrace.http.board import Facts
from headrace.http.pages.events import note
from headrace.http.pages.frame import answer_page
from headrace.http.pages.parts import Page, Part, SentPages
from headrace.http.pages.snapshot import Snapshots
from headrace.http.pages.templates import render

if TYPE_CHECKING:
    from collections.abc import Mapping

    from starlette.responses import Response

    from headrace.http.board import Board

FOUND, UNKNOWN, UNAVAILABLE = 200, 404, 503
TWIN: Final = ".json"


class LivePages:
    """What was sent to browsers, and what there is now."""

    def __init__(self, board: Board) -> None:
        self._board = board
        self.snapshots = Snapshots(board)
        self.sent = SentPages()

    def missing(self, path: str, at: str) -> Response:
        """Return a page that says that there is none, or not yet."""
        name = unquote(path.removeprefix("/streams/"))
        saved = self._board.acts.saved_stream(name) if path.startswith("/streams/") else None
        if saved is not None:
            runs = (self._board.facts or Facts()).runs
            html = render("stream_saved.html", name=name, file=saved, runs=runs)
            page = Page(f"Stream {name}", [Part("problem", html)], None)
            return answer_page(self._board, page, at=at, twin=f"{path}{TWIN}", waits=True)
        title, message, status = "Not found", f"There is no {path} here", UNKNOWN
        advice = "It may have been removed, or its name has changed."
        if self._board.facts is None:
            title, status = "Starting", UNAVAILABLE
            message, advice = (
                f"{self._board.command} is starting",
                "This page loads again by itself.",
            )
        html = render("problem.html", message=message, advice=advice)
        page = Page(title, [Part("problem", html)], None)
        return answer_page(self._board, page, status, at=at, twin=f"{path}{TWIN}", waits=True)

    def page(
        self,
        page: Page,
        at: str,
        path: str,
        query: Mapping[str, str] | None = None,
        status: int = FOUND,
    ) -> Response:
        """Return a page whose parts follow what happens."""
        seen = self.sent.add([note(""), *page.parts])
        place = urlencode({"page": path, "seen": seen, **(query or {})}, quote_via=quote)
        twin = f"{'/index' if path == '/' else path}{TWIN}"
        events = f"/api/v1/events?{place}"
        return answer_page(self._board, page, status, at=at, events=events, twin=twin)
