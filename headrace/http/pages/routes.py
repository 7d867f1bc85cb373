"""The paths of the pages, and what each answers: HTML, or the same as JSON under `.json`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final
from urllib.parse import quote

from starlette.concurrency import run_in_threadpool
from starlette.routing import Route

from headrace.http.board import Facts
from headrace.http.pages.assets import static
from headrace.http.pages.events import Events
from headrace.http.pages.explain import (
    MOST_BYTES,
    explained,
    page_with,
    records_in,
    sent_text,
)
from headrace.http.pages.find import page_at
from headrace.http.pages.frame import answer_json
from headrace.http.pages.live import TWIN
from headrace.http.pages.quarantine_page import quarantine_view

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from starlette.requests import Request
    from starlette.responses import Response

    from headrace.http.board import Board
    from headrace.http.pages.live import LivePages

BAD, UNKNOWN, TOO_LARGE, UNAVAILABLE = 400, 404, 413, 503
MOST_WANTED: Final = 200
KINDS: Final = ("streams", "tables", "apps", "replays")


def page_routes(
    board: Board, live: LivePages, problem: Callable[[int, str], Response]
) -> Sequence[Route]:
    """Return the routes of the pages, of what they load, and of the API's parts about one stream."""
    pages = _Pages(board, live, problem)
    return [
        Route("/", pages.page),
        Route("/index.json", pages.page),
        Route("/replays", pages.page),
        Route("/replays.json", pages.page),
        *(Route(f"/{kind}/{{name}}", pages.page) for kind in KINDS),
        Route("/streams/{name}", pages.explain, methods=["POST"]),
        Route("/quarantine/{name}.json", pages.page),
        Route("/api/v1/streams/{name}/explain", pages.explain, methods=["POST"]),
        Route("/static/{name:path}", static, methods=["GET"]),
        Route("/api/v1/events", pages.events, methods=["GET"]),
        Route("/api/v1/streams/{name}/ledger", pages.ledger),
        Route("/api/v1/streams/{name}/quarantine", pages.quarantine),
    ]


class _Pages:
    def __init__(
        self, board: Board, live: LivePages, problem: Callable[[int, str], Response]
    ) -> None:
        self._board = board
        self._problem = problem
        self._snapshots = live.snapshots
        self._live, self._missing = live.page, live.missing
        self._events = Events(board, live.snapshots, live.sent)

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
        return self._live(found, snapshot.at, raw, {"q": wanted} if wanted else {})

    async def explain(self, request: Request) -> Response:
        name, is_api = request.path_params["name"], request.scope["path"].startswith("/api/")
        text = await sent_text(request)
        if text is None:
            return self._problem(TOO_LARGE, f"send {MOST_BYTES // 1024} KiB at most")
        records = text if is_api else records_in(text)
        answer = await run_in_threadpool(explained, self._facts, name, records)
        if answer is None:
            return self._problem(UNKNOWN, "there is no such stream")
        if is_api and answer.problem is not None:
            return self._problem(BAD, answer.problem)
        if is_api:
            return answer_json(answer.found)
        path, snapshot = f"/streams/{quote(name, safe='')}", await self._snapshots.now()
        found = await run_in_threadpool(page_at, self._facts, snapshot, path)
        if found is None:
            return self._missing(path, snapshot.at)
        return self._live(page_with(found, name, records, answer), snapshot.at, path)

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
