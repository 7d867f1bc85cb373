"""Who gets an answer: the rules against other machines and against pages in a browser."""

from __future__ import annotations

import hashlib
import hmac
from http.cookies import CookieError, SimpleCookie
from typing import TYPE_CHECKING, Final
from urllib.parse import quote, urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import RedirectResponse

from headrace.http.address import is_loopback

if TYPE_CHECKING:
    from collections.abc import Callable

    from starlette.responses import Response
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from headrace.http.address import Address
    from headrace.secret import Secret

# A browser that does not know the token may ask for these.
OPEN: Final = ("/login", "/static/")
COOKIE: Final = "headrace"
FOUND: Final = 303
READING: Final = frozenset({"GET", "HEAD", "OPTIONS"})
# Kubernetes asks these without a token; without one they answer with a word.
PROBES: Final = frozenset({"/livez", "/readyz"})
ALWAYS: Final = {
    "cache-control": "no-store",
    "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
    "cross-origin-resource-policy": "same-origin",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
}
BEARER: Final = "bearer "
HOW_TO_ASK: Final = "send the token of HEADRACE_HTTP_TOKEN as Authorization: Bearer TOKEN"


class Guard:
    """Refuses a request before anything looks at it."""

    def __init__(
        self, app: ASGIApp, address: Address, refuse: Callable[[int, str], Response]
    ) -> None:
        self._app = app
        self._address = address
        self._refuse = refuse

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or refuse it."""

        async def send_safely(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in ALWAYS.items():
                    headers.setdefault(name, value)
            await send(message)

        answer = self._refusal(Headers(scope=scope), scope) or self._app
        await answer(scope, receive, send_safely)

    def _refusal(self, headers: Headers, scope: Scope) -> Response | None:
        path = scope["path"]
        if scope["method"] not in READING and not is_same_origin(headers):
            return self._refuse(403, "a page of another origin may not send this")
        if self._address.is_loopback:
            # A page whose name was made to point here sends its own name.
            if not is_own_host(headers.getlist("host")):
                return self._refuse(
                    421, "this address answers to 127.0.0.1 and localhost, and to no other name"
                )
        elif path not in PROBES and not knows_token(headers, self._address.token):
            if path.startswith(OPEN):
                return None
            if "text/html" in headers.get("accept", "") and scope["method"] == "GET":
                return RedirectResponse(f"/login?next={quote(path)}", FOUND)
            refusal = self._refuse(401, HOW_TO_ASK)
            refusal.headers["www-authenticate"] = 'Bearer realm="headrace"'
            return refusal
        return None


def is_own_host(named: list[str]) -> bool:
    """Whether a request names one host, and that is this machine."""
    if len(named) != 1:
        return False
    try:
        host = urlsplit(f"//{named[0]}").hostname
    except ValueError:
        return False
    return host is not None and is_loopback(host)


def is_same_origin(headers: Headers) -> bool:
    """Whether a request is none that a page of another origin made a browser send.

    Browsers say so of each request that may change something; programs say nothing of it.
    """
    site = headers.get("sec-fetch-site")
    if site is not None:
        return site in {"same-origin", "none"}
    origin = headers.get("origin")
    return origin is None or urlsplit(origin).netloc == headers.get("host")


def knows_token(headers: Headers, token: Secret | None) -> bool:
    """Whether a request has the token. The time of the check does not depend on the token.

    A program sends it in a header. A browser that has logged in sends a cookie that stands for it.
    """
    if token is None:
        return False
    said = headers.get("authorization", "")
    if said[: len(BEARER)].lower() == BEARER:
        return hmac.compare_digest(said[len(BEARER) :].strip().encode(), token.reveal().encode())
    return hmac.compare_digest(_cookie(headers).encode(), cookie_value(token).encode())


def cookie_value(token: Secret) -> str:
    """Return what a browser keeps: it stands for the token, and does not tell it."""
    return hmac.new(token.reveal().encode(), b"headrace control room", hashlib.sha256).hexdigest()


def _cookie(headers: Headers) -> str:
    try:
        found = SimpleCookie(headers.get("cookie", "")).get(COOKIE)
    except CookieError:
        return ""
    return "" if found is None else found.value
