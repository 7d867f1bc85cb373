"""The API's part about files: what a program proposes is checked, and saved."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import msgspec
from starlette.concurrency import run_in_threadpool
from starlette.routing import Route

from headrace.errors import HeadraceError
from headrace.http.changing import changing
from headrace.http.pages.frame import answer_json

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from starlette.requests import Request
    from starlette.responses import Response

    from headrace.http.address import Address
    from headrace.http.board import Board

MOST_BYTES: Final = 4 * 2**20
BAD, UNKNOWN, CHANGED, TOO_LARGE = 400, 404, 409, 413
NOT_HERE: Final = "this command has no workspace whose files it may change"


@dataclass(frozen=True, slots=True)
class FilesRequest:
    """Texts by paths below the workspace, and what their files held when somebody looked."""

    files: dict[str, str]
    seen: dict[str, str] = field(default_factory=dict)


def file_api_routes(
    board: Board, address: Address, refuse: Callable[[int, str], Response]
) -> Sequence[Route]:
    """Return the routes by which programs check and save files."""
    answers = _Files(board, refuse)
    return [
        Route(path, changing(board, address, refuse, handler), methods=["POST"])
        for path, handler in (
            ("/api/v1/files/check", answers.check),
            ("/api/v1/files", answers.save),
        )
    ]


class _Files:
    def __init__(self, board: Board, refuse: Callable[[int, str], Response]) -> None:
        self._board = board
        self._refuse = refuse

    async def check(self, request: Request) -> Response:
        sent = await self._sent(request)
        if not isinstance(sent, FilesRequest):
            return sent
        try:
            found = await run_in_threadpool(self._board.acts.check_files, sent.files)
        except HeadraceError as problem:
            return self._refuse(BAD, problem.message)
        return self._refuse(UNKNOWN, NOT_HERE) if found is None else answer_json(found)

    async def save(self, request: Request) -> Response:
        sent = await self._sent(request)
        if not isinstance(sent, FilesRequest):
            return sent
        try:
            found = await run_in_threadpool(self._board.acts.save_files, sent.files, sent.seen)
        except HeadraceError as problem:
            return self._refuse(BAD, problem.message)
        if found is None:
            return self._refuse(UNKNOWN, NOT_HERE)
        if found.ok:
            return answer_json({"saved": found.saved})
        status, message = BAD, "the files have problems, and nothing was saved"
        if found.changed:
            status = CHANGED
            message = f"nothing was saved: not as they were seen are {', '.join(found.changed)}"
        said: dict[str, Any] = {"error": {"message": message}, "check": found.check}
        return answer_json(said, status)

    async def _sent(self, request: Request) -> FilesRequest | Response:
        if not self._board.acts.has_files:
            return self._refuse(UNKNOWN, NOT_HERE)
        body = b""
        async for chunk in request.stream():
            body += chunk
            if len(body) > MOST_BYTES:
                return self._refuse(TOO_LARGE, f"send {MOST_BYTES // 2**20} MiB at most")
        try:
            return msgspec.json.decode(body, type=FilesRequest)
        except (msgspec.MsgspecError, ValueError, RecursionError) as problem:
            example = '{"files": {"streams/NAME.yaml": "kind: stream …"}}'
            return self._refuse(BAD, f"send JSON such as {example}: {problem}")
