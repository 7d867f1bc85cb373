"""The forms that write files of the workspace: a new stream, and one more region of a stream."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final
from urllib.parse import parse_qs, quote

from starlette.concurrency import run_in_threadpool
from starlette.responses import RedirectResponse
from starlette.routing import Route

from headrace.errors import HeadraceError
from headrace.http.changing import changing
from headrace.http.pages.frame import answer_page, answer_problem
from headrace.http.pages.parts import Page, Part
from headrace.http.pages.templates import render

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from starlette.requests import Request
    from starlette.responses import Response

    from headrace.http.address import Address
    from headrace.http.board import Board
    from headrace.http.file_rows import FilesCheck
    from headrace.http.new_stream_rows import RegionForm, StreamForm

MOST_BYTES: Final = 2**21
MOST_FIELDS: Final = 64
OK, SEE_OTHER, BAD, UNKNOWN, CHANGED, TOO_LARGE = 200, 303, 400, 404, 409, 413
UNAVAILABLE: Final = 503
NEW_STREAM: Final = "/streams/new"
# The fields of a stream, by what they are called on the page.
FIELDS: Final = {
    "name": "Name of the stream",
    "format": "Format",
    "schema": "Schema",
    "registry": "Schema registry",
    "subject": "Subject",
    "required": "Required fields",
    "output": "Name of the output",
    "key": "Key of the records",
    "filter": "Filter",
    "project": "Columns",
    "sink_cluster": "To cluster",
    "sink_topic": "To topic",
    "catalog": "Catalog",
    "database": "Database",
    "table": "Table",
    "partition": "Partitions",
}
STREAM_FIELDS: Final = ("cluster", "topic", *FIELDS)
REGION_FIELDS: Final = ("region", "cluster", "topic", "trigger", "label")


def file_form_routes(
    board: Board, address: Address, refuse: Callable[[int, str], Response]
) -> Sequence[Route]:
    """Return the routes of the forms. Whoever may not change anything is not shown them either."""
    forms = _Forms(board)

    def route(path: str, handler: object, *methods: str) -> Route:
        return Route(path, changing(board, address, refuse, handler), methods=[*methods])  # type: ignore[arg-type]  # a bound coroutine

    region = "/streams/{name}/region"
    return [
        route(NEW_STREAM, forms.new_stream, "GET"),
        route(NEW_STREAM, forms.post_stream, "POST"),
        route(region, forms.new_region, "GET"),
        route(region, forms.post_region, "POST"),
    ]


class _Forms:
    def __init__(self, board: Board) -> None:
        self._board = board

    async def new_stream(self, request: Request) -> Response:
        # A link of another page may lead here: it chooses what is read, and nothing else.
        values = _named(request.query_params, ("cluster", "topic"))
        return await self._stream(values, is_first=True)

    async def post_stream(self, request: Request) -> Response:
        sent = await self._sent(request)
        if not isinstance(sent, dict):
            return sent
        values = _named(sent, STREAM_FIELDS)
        if sent.get("do") != "save":
            return await self._stream(values, is_first=False)
        return await self._stream(values, seen_in(sent))

    async def _stream(
        self,
        values: Mapping[str, str],
        seen: Mapping[str, str] | None = None,
        *,
        is_first: bool = False,
    ) -> Response:
        def ask() -> StreamForm | None:
            acts = self._board.acts
            if not acts.has_files:
                return None
            if seen is not None:
                return acts.save_new_stream(values, seen)
            return acts.new_stream(values, is_first=is_first)

        try:
            form = await run_in_threadpool(ask)
        except HeadraceError as problem:
            return self._problem(problem.message, problem.advice, BAD)
        if form is None:
            return self._not_here()
        if form.saved:
            name = quote(form.values["name"], safe="")
            return RedirectResponse(f"/streams/{name}", SEE_OTHER)
        html = render(
            "new_stream.html",
            form=form,
            fields=list(FIELDS),
            labels=FIELDS,
            seen=_seen(form.check),
            runs=self._runs,
        )
        page = Page("New stream", [Part("new-stream", html)], None, current="new")
        return answer_page(self._board, page, _status(form, is_save=seen is not None))

    async def new_region(self, request: Request) -> Response:
        return await self._region(request, _named(request.query_params, REGION_FIELDS))

    async def post_region(self, request: Request) -> Response:
        sent = await self._sent(request)
        if not isinstance(sent, dict):
            return sent
        values = _named(sent, REGION_FIELDS)
        return await self._region(
            request, values, seen_in(sent) if sent.get("do") == "save" else None
        )

    async def _region(
        self, request: Request, values: Mapping[str, str], seen: Mapping[str, str] | None = None
    ) -> Response:
        stream = request.path_params["name"]

        def ask() -> RegionForm | None:
            acts = self._board.acts
            if not acts.has_files:
                return None
            if seen is not None:
                return acts.save_new_region(stream, values, seen)
            return acts.new_region(stream, values)

        try:
            form = await run_in_threadpool(ask)
        except HeadraceError as problem:
            return self._problem(problem.message, problem.advice, BAD)
        if form is None:
            return self._not_here()
        if form.saved:
            return RedirectResponse(f"/streams/{quote(stream, safe='')}", SEE_OTHER)
        html = render("new_region.html", form=form, seen=_seen(form.check))
        page = Page(f"New region of {stream}", [Part("new-region", html)], None)
        return answer_page(self._board, page, _status(form, is_save=seen is not None))

    @property
    def _runs(self) -> bool:
        return self._board.facts is not None and self._board.facts.runs

    async def _sent(self, request: Request) -> dict[str, str] | Response:
        body = b""
        async for chunk in request.stream():
            body += chunk
            if len(body) > MOST_BYTES:
                return self._problem("This form is too long", "Write the file by hand.", TOO_LARGE)
        try:
            found = parse_qs(
                body.decode(), keep_blank_values=True, max_num_fields=MOST_FIELDS, errors="strict"
            )
        except (UnicodeDecodeError, ValueError):
            return self._problem("This is no form", "Send it from the page again.", BAD)
        return {name: said[0].replace("\r\n", "\n") for name, said in found.items()}

    def _not_here(self) -> Response:
        if self._board.facts is None:
            message = f"{self._board.command} is starting"
            return self._problem(message, "Load the page again in a moment.", UNAVAILABLE)
        advice = "It is declared by a file for many topics, or it is of another workspace."
        return self._problem(
            "No file of this workspace can be changed for that here", advice, UNKNOWN
        )

    def _problem(self, message: str, advice: str, status: int) -> Response:
        return answer_problem(self._board, "Not possible", message, advice, status)


def seen_in(sent: Mapping[str, str]) -> dict[str, str]:
    """Return the hashes that the page carries; nothing where they are damaged."""
    try:
        found = json.loads(sent.get("seen", ""))
    except (ValueError, RecursionError):
        return {}
    return {str(path): str(one) for path, one in found.items()} if isinstance(found, dict) else {}


def _seen(check: FilesCheck | None) -> str:
    return json.dumps({} if check is None else dict(check.seen))


def _named(sent: Mapping[str, str], fields: Sequence[str]) -> dict[str, str]:
    return {name: sent.get(name, "") for name in fields}


def _status(form: StreamForm | RegionForm, *, is_save: bool) -> int:
    """Return the status of a page: one that was to be saved, and was not, is no success."""
    if form.changed:
        return CHANGED
    return BAD if is_save else OK
