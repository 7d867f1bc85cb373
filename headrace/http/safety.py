"""Who gets an answer: the rules against other machines and against pages in a browser."""

from __future__ import annotations

import hmac
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders

from headrace.http.address import is_loopback

if TYPE_CHECKING:
    from collections.abc import Callable

    from starlette.responses import Response
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from headrace.http.address import Address
    from headrace.secret import Secret

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
                MutableHeaders(scope=message).update(ALWAYS)
            await send(message)

        answer = self._refusal(Headers(scope=scope), scope["path"]) or self._app
        await answer(scope, receive, send_safely)

    def _refusal(self, headers: Headers, path: str) -> Response | None:
        if self._address.is_loopback:
            # A page whose name was made to point here sends its own name.
            if not is_own_host(headers.getlist("host")):
                return self._refuse(
                    421, "this address answers to 127.0.0.1 and localhost, and to no other name"
                )
        elif path not in PROBES and not knows_token(headers, self._address.token):
            refusal = self._refuse(
                401, "send the token of HEADRACE_HTTP_TOKEN as Authorization: Bearer TOKEN"
            )
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


def knows_token(headers: Headers, token: Secret | None) -> bool:
    """Whether a request has the token. The time of the check does not depend on the token."""
    said = headers.get("authorization", "")
    if token is None or said[: len(BEARER)].lower() != BEARER:
        return False
    return hmac.compare_digest(said[len(BEARER) :].strip().encode(), token.reveal().encode())
