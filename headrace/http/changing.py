"""Who may change something: not where a control room is read-only, and not without its token."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final
from urllib.parse import quote

from starlette.responses import RedirectResponse

from headrace.http.pages.frame import answer_problem
from headrace.http.safety import FOUND, HOW_TO_ASK, knows_token

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from starlette.requests import Request
    from starlette.responses import Response

    from headrace.http.address import Address
    from headrace.http.board import Board

FORBIDDEN: Final = 403
READ_ONLY: Final = "this control room is read-only"
ADVICE: Final = "Start it without --read-only, or use the commands."


def changing(
    board: Board,
    address: Address,
    refuse: Callable[[int, str], Response],
    handler: Callable[[Request], Awaitable[Response]],
) -> Callable[[Request], Awaitable[Response]]:
    """Wrap the handler of a route that changes something, or that shows a form for it.

    If there is a token it is asked for, on loopback, too. What pages of other origins send was
    refused before (`Guard`).
    """

    async def answer(request: Request) -> Response:
        is_browser = "text/html" in request.headers.get("accept", "")
        if board.read_only:
            if is_browser:
                return answer_problem(board, "Read-only", READ_ONLY.capitalize(), ADVICE, FORBIDDEN)
            return refuse(FORBIDDEN, READ_ONLY)
        if address.token is not None and not knows_token(request.headers, address.token):
            if is_browser:
                back = request.url.path if request.method == "GET" else "/"
                return RedirectResponse(f"/login?next={quote(back)}", FOUND)
            return refuse(401, HOW_TO_ASK)
        return await handler(request)

    return answer
