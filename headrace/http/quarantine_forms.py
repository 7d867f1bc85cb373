"""What the page of a quarantine and the API do: try a changed stream, save it, replay the records."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import parse_qsl, quote

import msgspec
from starlette.concurrency import run_in_threadpool
from starlette.responses import RedirectResponse
from starlette.routing import Route

from headrace.errors import HeadraceError, UsageError
from headrace.http.board import Facts
from headrace.http.changing import changing
from headrace.http.pages.explain import sent_text
from headrace.http.pages.frame import answer_json
from headrace.http.pages.quarantine_page import (
    Refused,
    RuleForm,
    quarantine_page,
    with_form,
)
from headrace.http.safety import knows_token

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from starlette.requests import Request
    from starlette.responses import Response

    from headrace.http.address import Address
    from headrace.http.board import Board
    from headrace.http.file_rows import FilesSaved
    from headrace.http.pages.live import LivePages
    from headrace.http.pages.quarantine_page import May

    Refuse = Callable[[int, str], Response]

FOUND, ACCEPTED, SEE_OTHER = 200, 202, 303
BAD, UNKNOWN, CONFLICT, TOO_LARGE, UNAVAILABLE = 400, 404, 409, 413, 503
# A stream's file has some kilobytes; a form's encoding makes it larger.
MOST_BYTES: Final = 2**20
MOST_FIELDS: Final = 20
NO_STREAM: Final = "there is no such stream, or it has no quarantine"
CHANGED: Final = "the file has changed meanwhile, and nothing was saved"
CHANGED_ADVICE: Final = (
    "Below is what Save would change in the file as it is now. Save again if that is what you want."
)
AS_IT_WAS: Final = "the file is as it was, so there is nothing to save"


def quarantine_routes(
    board: Board, address: Address, refuse: Refuse, pages: LivePages
) -> Sequence[Route]:
    """Return the routes of a quarantine's page, and of the API's parts that do something with it."""
    answers = _Quarantine(board, address, refuse, pages)
    api = "/api/v1/streams/{name}/quarantine"
    return [
        Route("/quarantine/{name}", answers.page),
        Route("/quarantine/{name}", answers.send, methods=["POST"]),
        Route("/quarantine/{name}/replay", answers.start_from_page, methods=["POST"]),
        Route(f"{api}/try", answers.try_files, methods=["POST"]),
        Route(f"{api}/replay", answers.last_replay),
        Route(f"{api}/replay", answers.start_replay, methods=["POST"]),
    ]


class _Quarantine:
    def __init__(self, board: Board, address: Address, refuse: Refuse, pages: LivePages) -> None:
        self._board = board
        self._address = address
        self._refuse = refuse
        self._pages = pages

        # To try the file as it is changes nothing, and names nothing new.
        self._send_change = changing(board, address, refuse, self._change)
        self._try_change = changing(board, address, refuse, self._answer_trial)
        self.start_from_page = changing(board, address, refuse, self._start_from_page)
        self.start_replay = changing(board, address, refuse, self._start_replay)

    async def page(self, request: Request) -> Response:
        """Answer with the page."""
        return await self._page(request, RuleForm(saved="saved" in request.query_params))

    async def send(self, request: Request) -> Response:
        """Answer the page's form: with changed files, or with none."""
        form = await self._form(request)
        if form is None:
            return self._refuse(TOO_LARGE, f"send {MOST_BYTES // 1024} KiB at most")
        request.state.form = form
        if _named(form, "text:"):
            return await self._send_change(request)
        return await self._tried(request, RuleForm())

    async def _change(self, request: Request) -> Response:
        form: Mapping[str, str] = request.state.form
        typed = RuleForm(_named(form, "text:"), seen=_named(form, "seen:"))
        if form.get("do") != "save":
            return await self._tried(request, typed)
        name, acts = request.path_params["name"], self._board.acts
        try:
            saved = await run_in_threadpool(acts.save_stream, name, typed.texts, typed.seen)
        except HeadraceError as problem:
            return await self._not_done(request, problem, BAD, typed)
        if saved is None:
            return await self._page(request, RuleForm())
        return await self._saved(request, typed, saved)

    async def _saved(self, request: Request, typed: RuleForm, saved: FilesSaved) -> Response:
        if saved.ok and saved.saved:
            name = quote(request.path_params["name"], safe="")
            return RedirectResponse(f"/quarantine/{name}?saved=1#rule", SEE_OTHER)
        if saved.ok:
            return await self._page(request, replace(typed, refused=Refused(AS_IT_WAS)))
        if not saved.changed:
            return await self._page(request, replace(typed, check=saved.check), BAD)
        # They see the difference to what is there now, so the next save may be over that.
        refused = Refused(CHANGED, CHANGED_ADVICE)
        form = replace(typed, seen={}, check=saved.check, refused=refused)
        return await self._page(request, form, CONFLICT)

    async def _tried(self, request: Request, typed: RuleForm) -> Response:
        facts, name = self._facts, request.path_params["name"]
        try:
            trial = await run_in_threadpool(facts.try_quarantine, name, typed.texts)
        except HeadraceError as problem:
            return await self._not_done(request, problem, _status_of(problem), typed)
        check = None if trial is None else trial.check
        status = FOUND if check is None or check.ok else BAD
        return await self._page(request, replace(typed, trial=trial, check=check), status)

    async def _start_from_page(self, request: Request) -> Response:
        name = request.path_params["name"]
        try:
            started = await run_in_threadpool(self._board.acts.replay_quarantine, name)
        except HeadraceError as problem:
            return await self._not_done(request, problem, CONFLICT, RuleForm())
        if started is None:
            return await self._page(request, RuleForm())
        return RedirectResponse(f"/quarantine/{quote(name, safe='')}#replay", SEE_OTHER)

    async def try_files(self, request: Request) -> Response:
        """Try a stream for a program: as its files are, or changed by the body."""
        body = await sent_text(request, MOST_BYTES)
        if body is None:
            return self._refuse(TOO_LARGE, f"send {MOST_BYTES // 1024} KiB at most")
        request.state.body = body
        return await (self._try_change if body.strip() else self._answer_trial)(request)

    async def _answer_trial(self, request: Request) -> Response:
        facts, name, body = self._facts, request.path_params["name"], request.state.body
        try:
            texts = await run_in_threadpool(_texts_in, body, facts, name)
            trial = await run_in_threadpool(facts.try_quarantine, name, texts)
        except HeadraceError as problem:
            return self._refuse(_status_of(problem), problem.message)
        if trial is None:
            return self._refuse(UNKNOWN, NO_STREAM)
        if trial.check.ok:
            return answer_json(trial)
        message = "the files have mistakes, and nothing was tried"
        said: dict[str, Any] = {"message": message, "problems": trial.check.problems}
        return answer_json({"error": said}, BAD)

    async def last_replay(self, request: Request) -> Response:
        """Return how the last replay fares."""
        facts, name = self._facts, request.path_params["name"]
        try:
            found = await run_in_threadpool(facts.quarantine_replay, name)
        except HeadraceError as problem:
            return self._refuse(UNAVAILABLE, problem.message)
        if found is None:
            return self._refuse(UNKNOWN, "no replay of this quarantine is known here")
        return answer_json(found)

    async def _start_replay(self, request: Request) -> Response:
        name = request.path_params["name"]
        try:
            started = await run_in_threadpool(self._board.acts.replay_quarantine, name)
        except HeadraceError as problem:
            return self._refuse(CONFLICT, problem.message)
        return (
            self._refuse(UNKNOWN, NO_STREAM) if started is None else answer_json(started, ACCEPTED)
        )

    async def _not_done(
        self, request: Request, problem: HeadraceError, status: int, typed: RuleForm
    ) -> Response:
        refused = Refused(problem.message, problem.advice or None)
        return await self._page(request, replace(typed, refused=refused), status)

    async def _page(self, request: Request, form: RuleForm, status: int = FOUND) -> Response:
        """Return the page, with what came of a form."""
        name, facts = request.path_params["name"], self._facts
        path, snapshot = f"/quarantine/{quote(name, safe='')}", await self._pages.snapshots.now()
        found = await run_in_threadpool(quarantine_page, facts, snapshot, name, form.trial)
        if found is None:
            return self._pages.missing(path, snapshot.at)
        may = self._may(request)
        found = await run_in_threadpool(with_form, found, facts, snapshot, form, may)
        return self._pages.page(found, snapshot.at, path, status=status)

    async def _form(self, request: Request) -> Mapping[str, str] | None:
        body = await sent_text(request, MOST_BYTES)
        if body is None:
            return None
        try:
            fields = parse_qsl(body, keep_blank_values=True, max_num_fields=MOST_FIELDS)
        except ValueError:
            return None
        return {name: value.replace("\r\n", "\n") for name, value in fields}

    def _may(self, request: Request) -> May:
        if self._board.read_only:
            return "read"
        token = self._address.token
        return "change" if token is None or knows_token(request.headers, token) else "login"

    @property
    def _facts(self) -> Facts:
        return self._board.facts or Facts()


def _named(form: Mapping[str, str], prefix: str) -> dict[str, str]:
    """Return the fields of a form that are about files, by their paths."""
    return {
        name.removeprefix(prefix): value for name, value in form.items() if name.startswith(prefix)
    }


def _texts_in(body: str, facts: Facts, name: str) -> Mapping[str, str]:
    """Return the files that a program sends: `{"files": {PATH: TEXT}}`, or the stream's as text."""
    if not body.strip():
        return {}
    try:
        sent = msgspec.json.decode(body)
    except (msgspec.DecodeError, RecursionError):
        sent = None
    if isinstance(sent, dict) and sent.keys() == {"files"}:
        try:
            return msgspec.convert(sent["files"], dict[str, str])
        except msgspec.ValidationError as problem:
            raise UsageError(f"files is not an object of texts by their paths: {problem}") from None
    known = facts.quarantine_files(name)
    return {known.files[0].path: body} if known is not None and known.files else {}


def _status_of(problem: HeadraceError) -> int:
    return BAD if isinstance(problem, UsageError) else UNAVAILABLE
