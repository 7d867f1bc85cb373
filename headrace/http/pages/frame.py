"""What is around every page, and what a browser may do with it."""

from __future__ import annotations

from datetime import UTC, datetime
from importlib import metadata
from typing import TYPE_CHECKING, Final

import msgspec
from starlette.responses import Response

from headrace.http.pages.events import note
from headrace.http.pages.parts import Page, Part
from headrace.http.pages.templates import render

if TYPE_CHECKING:
    from collections.abc import Mapping

    from headrace.http.board import Board

OK: Final = 200
# No script and no style but our own files, and nothing from or to another machine.
SAFE: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)


def answer_page(  # noqa: PLR0913 - what a page may have
    board: Board,
    page: Page,
    status: int = OK,
    *,
    at: str | None = None,
    events: str = "",
    twin: str = "",
    waits: bool = False,
) -> Response:
    """Return a page. Its parts follow `events`; one that `waits` loads again by itself."""
    values: Mapping[str, object] = {
        "page": page,
        "at": at or f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%S.%fZ}",
        "events": events,
        "twin": twin,
        "waits": waits,
        "read_only": board.read_only,
        "note": note("").html,
        "command": board.command,
        "may_write": board.may_write,
        "version": metadata.version("headrace"),
    }
    return answer_html(render("page.html", **values), status)


def answer_problem(board: Board, title: str, message: str, advice: str, status: int) -> Response:
    """Return a page that says what is wrong, and what to do."""
    html = render("problem.html", message=message, advice=advice)
    return answer_page(board, Page(title, [Part("problem", html)], None), status)


def answer_html(html: str, status: int = OK) -> Response:
    """Return a page, and what a browser may do with it."""
    headers = {"content-type": "text/html; charset=utf-8", "content-security-policy": SAFE}
    return Response(html, status, headers=headers)


def answer_json(data: object, status: int = OK) -> Response:
    """Return an answer for programs."""
    return Response(msgspec.json.encode(data), status, headers={"content-type": "application/json"})
