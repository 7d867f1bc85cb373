"""The paths, and what each answers."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Final

import msgspec
import structlog
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.responses import Response
from starlette.routing import Match, Route

from headrace.http.changing import changing
from headrace.http.file_forms import file_form_routes
from headrace.http.files_api import file_api_routes
from headrace.http.openapi import openapi
from headrace.http.pages.live import LivePages
from headrace.http.pages.login import login_routes
from headrace.http.pages.replay_forms import replay_routes
from headrace.http.pages.routes import page_routes
from headrace.http.quarantine_forms import quarantine_routes
from headrace.http.safety import Guard, knows_token
from headrace.metrics.text import CONTENT_TYPE, exposition

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from starlette.requests import Request

    from headrace.http.address import Address
    from headrace.http.board import Board, Facts

READY: Final = 200
NOT_READY: Final = 503
UNKNOWN: Final = 404
NO_METHOD: Final = 405
log = structlog.get_logger(__name__)


def routes_of(board: Board, address: Address) -> Starlette:
    """Return the application that answers; what is not loopback asks for the token."""
    answers, live = _Answers(board, address), LivePages(board)
    # Each answers GET, and HEAD as GET.
    return Starlette(
        routes=[
            Route("/livez", answers.livez),
            Route("/readyz", answers.readyz),
            Route("/metrics", answers.metrics),
            Route("/api/v1/openapi.json", answers.openapi),
            Route("/api/v1/streams", answers.rows(lambda facts: facts.streams())),
            Route("/api/v1/tables", answers.rows(lambda facts: facts.tables())),
            Route("/api/v1/apps", answers.rows(lambda facts: facts.apps())),
            Route("/api/v1/replays", answers.rows(lambda facts: facts.replays())),
            Route("/api/v1/replays/{run_id}", answers.replay),
            *file_api_routes(board, address, _problem),
            *file_form_routes(board, address, _problem),
            # Before the pages: `/replays/new` is no replay.
            *replay_routes(board, partial(changing, board, address, _problem)),
            *page_routes(board, live, _problem),
            *quarantine_routes(board, address, _problem, live),
            *login_routes(address),
        ],
        middleware=[Middleware(Guard, address=address, refuse=_problem)],
        exception_handlers={HTTPException: _refused, Exception: _failed},
    )


class _Answers:
    def __init__(self, board: Board, address: Address) -> None:
        self._board = board
        self._address = address

    async def livez(self, _request: Request) -> Response:
        return _json({"status": "alive"})

    async def readyz(self, request: Request) -> Response:
        # In this thread, because it comes from memory: others may be waiting for an answer.
        away = self._board.not_ready()
        said: dict[str, Any] = {"status": "not ready" if away else "ready"}
        if self._address.is_loopback or knows_token(request.headers, self._address.token):
            said["not_ready"] = away
        return _json(said, NOT_READY if away else READY)

    async def metrics(self, _request: Request) -> Response:
        text = await run_in_threadpool(lambda: exposition(self._board.samples()))
        return Response(text, headers={"content-type": CONTENT_TYPE})

    async def openapi(self, _request: Request) -> Response:
        return _json(await run_in_threadpool(openapi))

    def rows(
        self, of: Callable[[Facts], Sequence[object]]
    ) -> Callable[[Request], Awaitable[Response]]:
        async def answer(_request: Request) -> Response:
            facts = self._board.facts
            return _json([] if facts is None else await run_in_threadpool(of, facts))

        return answer

    async def replay(self, request: Request) -> Response:
        facts, wanted = self._board.facts, request.path_params["run_id"]
        found = None if facts is None else await run_in_threadpool(facts.replay, wanted)
        return _problem(UNKNOWN, "there is no such replay") if found is None else _json(found)


def _json(answer: object, status: int = READY) -> Response:
    content = msgspec.json.encode(answer)
    return Response(content, status, headers={"content-type": "application/json"})


def _problem(status: int, message: str) -> Response:
    return _json({"error": {"message": message}}, status)


def _refused(request: Request, problem: Exception) -> Response:
    assert isinstance(problem, HTTPException)  # noqa: S101 - for the type checker: what we registered it for
    answer = _problem(problem.status_code, problem.detail)
    if problem.status_code == NO_METHOD:
        answer.headers["allow"] = ", ".join(sorted(_methods_of(request)))
    return answer


def _methods_of(request: Request) -> set[str]:
    """Return what a path answers: it may have a route for each method."""
    routes = (one for one in request.app.routes if isinstance(one, Route))
    fitting = (one for one in routes if one.matches(request.scope)[0] is not Match.NONE)
    return {method for one in fitting for method in one.methods or ()}


def _failed(request: Request, problem: Exception) -> Response:
    # Its words may name a secret; the path has passed the routes.
    kind = type(problem).__name__
    log.warning("an answer over HTTP failed", path=request.scope["route"].path, problem=kind)
    return _problem(500, f"it failed with {kind}")
