"""Replays that are asked for: planned, started, cancelled, compared, published; by pages and the API."""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING, Any, Final, TypeAlias
from urllib.parse import parse_qs, quote

import msgspec
from starlette.concurrency import run_in_threadpool
from starlette.responses import RedirectResponse
from starlette.routing import Route

from headrace.errors import HeadraceError, Transient, UsageError
from headrace.http.pages.explain import sent_text
from headrace.http.pages.frame import answer_json, answer_page, answer_problem
from headrace.http.pages.replay_form_page import FormState, comparison_page, new_page
from headrace.http.pages.replay_request import request_of, values_of
from headrace.http.replay_rows import Mistake, RequestRefused
from headrace.http.safety import FOUND, is_same_origin

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence

    from starlette.requests import Request
    from starlette.responses import Response

    from headrace.http.board import Board

    Handler: TypeAlias = Callable[[Request], Awaitable[Response]]

OK, ACCEPTED, BAD, UNKNOWN, CONFLICT, TOO_LARGE, UNAVAILABLE = 200, 202, 400, 404, 409, 413, 503
MOST_PLANS: Final = 64
NOT_OFFERED: Final = "this command starts no replays: headrace up and headrace ui do"
NO_SUCH: Final = "there is no such replay here"


def replay_routes(board: Board, guarded: Callable[[Handler], Handler]) -> Sequence[Route]:
    """Return the routes of what replays are asked for; `guarded` refuses who may change nothing."""
    forms, api = _Forms(board), _Api(board)

    def post(path: str, handler: Handler) -> Route:
        return Route(path, guarded(handler), methods=["POST"])

    return [
        Route("/replays/new", guarded(forms.new)),
        Route("/replays/new.json", guarded(api.choices)),
        post("/replays/new", forms.plan),
        post("/replays", forms.start),
        post("/replays/{run_id}/cancel", forms.cancel),
        post("/replays/{run_id}/publish", forms.publish),
        post("/replays/{run_id}/compare", forms.compare),
        post("/api/v1/plans", api.plan),
        post("/api/v1/replays", api.start),
        post("/api/v1/replays/{run_id}/cancel", api.cancel),
        post("/api/v1/replays/{run_id}/publish", api.publish),
        Route("/api/v1/replays/{run_id}/compare", guarded(api.compare), methods=["GET"]),
    ]


class _Api:
    """The answers for programs."""

    def __init__(self, board: Board) -> None:
        self._board = board

    async def choices(self, _request: Request) -> Response:
        return await self._answer(self._board.acts.replay_choices)

    async def plan(self, request: Request) -> Response:
        acts = self._board.acts
        return await self._with_body(request, acts.plan_replay)

    async def start(self, request: Request) -> Response:
        acts = self._board.acts

        def start(values: Mapping[str, object]) -> Mapping[str, str] | None:
            run_id = acts.start_replay(values)
            return None if run_id is None else {"run_id": run_id}

        return await self._with_body(request, start, ACCEPTED)

    async def cancel(self, request: Request) -> Response:
        run_id, acts = request.path_params["run_id"], self._board.acts

        def cancel(values: Mapping[str, object]) -> Mapping[str, Any] | None:
            unknown = [
                Mistake(name, "it is not known") for name in values.keys() - {"delete_output"}
            ]
            deletes = values.get("delete_output", False)
            if not isinstance(deletes, bool):
                unknown.append(Mistake("delete_output", "it is true or false"))
            if unknown:
                raise RequestRefused(unknown)
            return acts.cancel_replay(run_id, delete_output=bool(deletes))

        return await self._with_body(request, cancel, missing=NO_SUCH)

    async def publish(self, request: Request) -> Response:
        run_id, acts = request.path_params["run_id"], self._board.acts
        return await self._answer(lambda: acts.publish_replay(run_id), missing=NO_SUCH)

    async def compare(self, request: Request) -> Response:
        if not is_same_origin(request.headers):
            # A page of another origin can make a browser ask, and this starts a process.
            return _error(403, "a page of another origin may not ask for this")
        run_id, acts = request.path_params["run_id"], self._board.acts
        options = dict(request.query_params)
        return await self._answer(lambda: acts.compare_replay(run_id, options), missing=NO_SUCH)

    async def _with_body(
        self,
        request: Request,
        act: Callable[[Mapping[str, object]], Any],
        status: int = OK,
        missing: str = NOT_OFFERED,
    ) -> Response:
        text = await sent_text(request)
        if text is None:
            return _error(TOO_LARGE, "the body is too large")
        try:
            values = msgspec.json.decode(text or "{}")
        except msgspec.DecodeError as problem:
            return _error(BAD, f"the body is not JSON: {problem}")
        if not isinstance(values, dict):
            return _error(BAD, "the body is not a JSON object")
        return await self._answer(lambda: act(values), status, missing)

    async def _answer(
        self, act: Callable[[], Any], status: int = OK, missing: str = NOT_OFFERED
    ) -> Response:
        try:
            found = await run_in_threadpool(act)
        except HeadraceError as problem:
            return _refusal(problem)
        return _error(UNKNOWN, missing) if found is None else answer_json(found, status)


class _Forms:
    """The pages, which need no script: each form is answered with a page, or with where to go."""

    def __init__(self, board: Board) -> None:
        self._board = board
        # What was planned and not started yet, by the name that the replay will have.
        self._plans: OrderedDict[str, tuple[Mapping[str, object], Mapping[str, Any]]] = (
            OrderedDict()
        )

    async def new(self, request: Request) -> Response:
        values = {name: request.query_params.getlist(name) for name in request.query_params}
        return await self._form(FormState(values))

    async def plan(self, request: Request) -> Response:
        values = await self._sent(request)
        if values is None:
            return self._too_large()
        acts, wanted = self._board.acts, request_of(values)
        try:
            found = await run_in_threadpool(acts.plan_replay, wanted)
            run_id = acts.new_run_id()
        except HeadraceError as problem:
            return await self._form(FormState(values, problem=problem), status_of(problem))
        if found is None or run_id is None:
            return self._not_offered()
        self._plans[run_id] = wanted, found
        if len(self._plans) > MOST_PLANS:
            self._plans.popitem(last=False)
        return await self._form(FormState(values, plan=found, run_id=run_id))

    async def start(self, request: Request) -> Response:
        values = await self._sent(request)
        if values is None:
            return self._too_large()
        wanted, run_id = request_of(values), next(iter(values.get("run_id", ())), None)
        planned, plan = self._plans.get(run_id or "", (None, None))
        plan = plan if planned == wanted else None
        try:
            name = await run_in_threadpool(self._board.acts.start_replay, wanted, run_id, plan)
        except HeadraceError as problem:
            state = FormState(values, problem=problem, plan=plan, run_id=run_id)
            return await self._form(state, status_of(problem))
        return self._not_offered() if name is None else _to(name)

    async def cancel(self, request: Request) -> Response:
        values = await self._sent(request) or {}
        run_id, acts = request.path_params["run_id"], self._board.acts
        deletes = bool(values.get("delete_output"))
        return await self._then(
            run_id,
            lambda: acts.cancel_replay(run_id, delete_output=deletes),
            "It was not cancelled",
        )

    async def publish(self, request: Request) -> Response:
        run_id, acts = request.path_params["run_id"], self._board.acts
        return await self._then(run_id, lambda: acts.publish_replay(run_id), "It was not published")

    async def compare(self, request: Request) -> Response:
        values = await self._sent(request)
        if values is None:
            return self._too_large()
        run_id, acts = request.path_params["run_id"], self._board.acts
        options = {name: said[0] for name, said in values.items() if said and said[0]}
        try:
            found = await run_in_threadpool(acts.compare_replay, run_id, options)
        except HeadraceError as problem:
            page = comparison_page(self._board.facts, run_id, options, problem)
            if page is None:
                return self._missing(run_id)
            return answer_page(self._board, page, status_of(problem))
        return self._missing(run_id) if found is None else _to(run_id, "#result")

    async def _then(self, run_id: str, act: Callable[[], Any], title: str) -> Response:
        try:
            found = await run_in_threadpool(act)
        except HeadraceError as problem:
            return answer_problem(
                self._board, title, problem.message, problem.advice, status_of(problem)
            )
        return self._missing(run_id) if found is None else _to(run_id)

    async def _form(self, state: FormState, status: int = OK) -> Response:
        page = await run_in_threadpool(new_page, self._board.acts, state)
        if page is None:
            return self._not_offered()
        return answer_page(self._board, page, status, twin="/replays/new.json")

    async def _sent(self, request: Request) -> dict[str, list[str]] | None:
        text = await sent_text(request)
        return None if text is None else values_of(parse_qs(text))

    def _too_large(self) -> Response:
        advice = "Leave something out."
        return answer_problem(self._board, "Too large", "The form is too large", advice, TOO_LARGE)

    def _not_offered(self) -> Response:
        advice = "Run headrace up or headrace ui in the workspace."
        return answer_problem(self._board, "Not offered", NOT_OFFERED, advice, UNKNOWN)

    def _missing(self, run_id: str) -> Response:
        advice = "It may have been cancelled."
        return answer_problem(
            self._board, "Not found", f"There is no replay {run_id} here", advice, UNKNOWN
        )


def status_of(problem: HeadraceError) -> int:
    """Return the status of an answer that says why something was not done."""
    if isinstance(problem, UsageError):
        return BAD
    return UNAVAILABLE if isinstance(problem, Transient) else CONFLICT


def _refusal(problem: HeadraceError) -> Response:
    said: dict[str, Any] = {"message": problem.message, "advice": problem.advice or None}
    if isinstance(problem, RequestRefused):
        said["field"] = problem.mistakes[0].field or None
        said["fields"] = problem.mistakes
    return answer_json({"error": said}, status_of(problem))


def _error(status: int, message: str) -> Response:
    return answer_json({"error": {"message": message}}, status)


def _to(run_id: str, fragment: str = "") -> Response:
    return RedirectResponse(f"/replays/{quote(run_id, safe='')}{fragment}", FOUND)
