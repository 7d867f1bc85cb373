"""The paths of the pages, and what each answers: HTML, or the same as JSON under `.json`."""

from __future__ import annotations

from importlib import metadata
from typing import TYPE_CHECKING, Final
from urllib.parse import quote, urlencode

import msgspec
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response
from starlette.routing import Route

from headrace.http.board import Facts
from headrace.http.pages.assets import static
from headrace.http.pages.events import Events, note
from headrace.http.pages.find import page_at
from headrace.http.pages.other_pages import quarantine_view
from headrace.http.pages.parts import Page, Part, SentPages
from headrace.http.pages.snapshot import Snapshots
from headrace.http.pages.templates import render

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from starlette.requests import Request

    from headrace.http.board import Board

FOUND, UNKNOWN, UNAVAILABLE = 200, 404, 503
TWIN: Final = ".json"
MOST_WANTED: Final = 200
# No script and no style but our own files, and nothing from or to another machine.
SAFE: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
KINDS: Final = ("streams", "tables", "apps", "replays", "quarantine")


def page_routes(board: Board, problem: Callable[[int, str], Response]) -> Sequence[Route]:
    """Return the routes of the pages, of what they load, and of the API's parts about one stream."""
    pages = _Pages(board, problem)
    return [
        Route("/", pages.page),
        Route("/index.json", pages.page),
        Route("/replays", pages.page),
        Route("/replays.json", pages.page),
        *(Route(f"/{kind}/{{name}}", pages.page) for kind in KINDS),
        Route("/static/{name:path}", static, methods=["GET"]),
        Route("/api/v1/events", pages.events, methods=["GET"]),
        Route("/api/v1/streams/{name}/ledger", pages.ledger),
        Route("/api/v1/streams/{name}/quarantine", pages.quarantine),
    ]


class _Pages:
    def __init__(self, board: Board, problem: Callable[[int, str], Response]) -> None:
        self._board = board
        self._problem = problem
        self._snapshots = Snapshots(board)
        self._sent = SentPages()
        self._events = Events(board, self._snapshots, self._sent)

    async def page(self, request: Request) -> Response:
        path = request.scope["path"]
        raw = str(request.scope.get("raw_path", path.encode()), "ascii")
        wanted = request.query_params.get("q", "")[:MOST_WANTED]
        is_twin = path.endswith(TWIN)
        if is_twin:
            raw = raw.removesuffix(TWIN).removesuffix("/index") or "/"
        snapshot, facts = await self._snapshots.now(), self._facts
        found = await run_in_threadpool(page_at, facts, snapshot, raw, wanted)
        if is_twin:
            if found is None:
                return self._problem(UNKNOWN, "there is no such page")
            return answer_json(found.data)
        if found is None:
            return self._missing(raw, snapshot.at)
        query = {"q": wanted} if wanted else {}
        seen = self._sent.add([note(""), *found.parts])
        place = urlencode({"page": raw, "seen": seen, **query}, quote_via=quote)
        twin = f"{'/index' if raw == '/' else raw}{TWIN}"
        return self._html(found, snapshot.at, f"/api/v1/events?{place}", twin)

    async def events(self, request: Request) -> Response:
        return await self._events.answer(request, self._problem)

    async def ledger(self, request: Request) -> Response:
        name = request.path_params["name"]
        rows = await run_in_threadpool(self._facts.ledger, name)
        if rows is None:
            return self._problem(UNKNOWN, "there is no such stream")
        return answer_json({"stream": name, "outputs": rows})

    async def quarantine(self, request: Request) -> Response:
        name = request.path_params["name"]
        view = await run_in_threadpool(quarantine_view, self._facts, name)
        if view.problem is not None:
            return self._problem(UNAVAILABLE, view.problem)
        if view.quarantine is None:
            return self._problem(UNKNOWN, "there is no such stream, or it has no quarantine")
        return answer_json(view.quarantine)

    @property
    def _facts(self) -> Facts:
        return self._board.facts or Facts()

    def _missing(self, path: str, at: str) -> Response:
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
        return self._html(page, at, "", f"{path}{TWIN}", status)

    def _html(self, page: Page, at: str, events: str, twin: str, status: int = FOUND) -> Response:
        values: Mapping[str, object] = {
            "page": page,
            "at": at,
            "events": events,
            "twin": twin,
            "note": note("").html,
            "command": self._board.command,
            "version": metadata.version("headrace"),
        }
        return answer_html(render("page.html", **values), status)


def answer_html(html: str, status: int = FOUND) -> Response:
    """Return a page, and what a browser may do with it."""
    headers = {"content-type": "text/html; charset=utf-8", "content-security-policy": SAFE}
    return Response(html, status, headers=headers)


def answer_json(data: object) -> Response:
    """Return an answer for programs."""
    return Response(msgspec.json.encode(data), headers={"content-type": "application/json"})
