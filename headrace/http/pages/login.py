"""How a browser shows the token: it is asked for once, and then kept in a cookie."""

from __future__ import annotations

import hmac
from typing import TYPE_CHECKING, Final
from urllib.parse import parse_qs

from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from headrace.http.pages.frame import answer_html
from headrace.http.pages.templates import render
from headrace.http.safety import COOKIE, cookie_value

if TYPE_CHECKING:
    from collections.abc import Sequence

    from starlette.requests import Request

    from headrace.http.address import Address

MOST_BYTES: Final = 4_096
TOO_LARGE, FORBIDDEN, SEE_OTHER = 413, 403, 303
KEPT_FOR_S: Final = 30 * 86_400


def login_routes(address: Address) -> Sequence[Route]:
    """Return the page that asks for the token, where there is one to ask for."""
    token = address.token
    if token is None:
        return []

    async def ask(request: Request) -> Response:
        return _page(request.query_params.get("next", "/"))

    async def check(request: Request) -> Response:
        body = b""
        async for chunk in request.stream():
            body += chunk
            if len(body) > MOST_BYTES:
                return Response(status_code=TOO_LARGE)
        form = parse_qs(body.decode(errors="replace"))
        said, following = form.get("token", [""])[0], form.get("next", ["/"])[0]
        if not hmac.compare_digest(said.strip().encode(), token.reveal().encode()):
            return _page(following, is_wrong=True)
        answer = RedirectResponse(own_path(following), SEE_OTHER)
        answer.set_cookie(
            COOKIE, cookie_value(token), max_age=KEPT_FOR_S, httponly=True, samesite="strict"
        )
        return answer

    return [Route("/login", ask), Route("/login", check, methods=["POST"])]


def own_path(text: str) -> str:
    """Return where a login leads: a path of this server, whatever a link said."""
    is_ours = text.startswith("/") and not text.startswith(("//", "/\\"))
    return text if is_ours and text.isprintable() else "/"


def _page(following: str, *, is_wrong: bool = False) -> Response:
    html = render("login.html", next=own_path(following), wrong=is_wrong)
    return answer_html(html, FORBIDDEN if is_wrong else 200)
