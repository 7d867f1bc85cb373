"""The registry's REST interface: one question, one answer, tried a few times at each URL.

Nothing in an error says where a request went.
"""

from __future__ import annotations

import http.client
import json
import ssl
import urllib.request
from http import HTTPStatus
from typing import TYPE_CHECKING, Final
from urllib.error import HTTPError, URLError

import stamina

from headrace.errors import Terminal, Transient

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from headrace.registry.address import Base
    from headrace.registry.credentials import Credentials
    from headrace.secret import Secret

TRY_LIMIT_S: Final = 5.0
TRIES: Final = 4
ALL_TRIES_LIMIT_S: Final = 15.0
_JSON: Final = "application/vnd.schemaregistry.v1+json"
_REFUSED: Final[dict[int, str]] = {
    HTTPStatus.UNAUTHORIZED: "does not accept the user, the password or the token",
    HTTPStatus.FORBIDDEN: "forbids this to the user",
}


class TryAgain(Exception):
    """A failure after which another try may succeed."""


class Refused(Exception):
    """An answer with an error: `body` is None where it is no JSON object."""

    def __init__(self, status: int, body: Mapping[str, object] | None) -> None:
        super().__init__(status)
        self.status = status
        self.body = body


class RegistrySilent(Transient):
    """A registry that does not answer, or that cannot answer at the moment."""

    def __init__(self, reason: str) -> None:
        super().__init__(
            f"the schema registry does not answer ({reason})",
            "start it, or correct its URL in headrace.yaml",
        )


class RegistryRefuses(Terminal):
    """A registry's refusal: the HTTP status, the registry's code, and its reason."""

    def __init__(self, status: int, code: int, reason: str) -> None:
        self.status = status
        self.code = code
        self.reason = reason
        super().__init__(f"the schema registry rejects the request: {reason} ({code})")


class NoRegistry(Terminal):
    """An answer that does not come from a schema registry."""

    def __init__(self, status: int) -> None:
        self.status = status
        if status == HTTPStatus.BAD_REQUEST:
            # Apicurio's to subjects without a group, where each has to name one.
            super().__init__(
                "the schema registry rejects the request without a reason (HTTP 400)",
                "correct the subject (some registries want it in a special form), or the URL in "
                "headrace.yaml: its path is the part before /subjects",
            )
            return
        super().__init__(
            f"the server at the schema registry's URL is not a schema registry (HTTP {status})",
            "correct the URL in headrace.yaml; its path is the part before /subjects",
        )


class RegistryHttp:
    """Asks one registry at the URL that answered last, or at the next URL if that fails."""

    def __init__(self, bases: Sequence[Base], credentials: Credentials) -> None:
        self._bases = bases
        self._credentials = credentials
        self._at = 0

    def ask(self, path: str, sent: Mapping[str, object] | None = None) -> dict[str, object]:
        """Return what lies at that path, or the answer to what is sent there."""
        body = None if sent is None else json.dumps(sent).encode()
        retrying = stamina.RetryingCaller(
            attempts=TRIES,
            timeout=ALL_TRIES_LIMIT_S,
            wait_initial=0.1,
            wait_max=1.0,
            wait_jitter=0.1,
        )
        try:
            return retrying(TryAgain, self._try_each, path, body)
        except TryAgain as error:
            raise RegistrySilent(str(error)) from None
        except Refused as no:
            raise _refusal(no) from None

    def _try_each(self, path: str, body: bytes | None) -> dict[str, object]:
        reasons: list[str] = []
        for _ in self._bases:
            try:
                return self._authorized(self._bases[self._at], path, body)
            except TryAgain as error:
                reasons.append(str(error))
                self._at = (self._at + 1) % len(self._bases)
        raise TryAgain(", ".join(dict.fromkeys(reasons)))

    def _authorized(self, base: Base, path: str, body: bytes | None) -> dict[str, object]:
        try:
            return self._answer(base, path, body)
        except Refused as no:
            # A token may have been called back before its end.
            if no.status != HTTPStatus.UNAUTHORIZED or not self._credentials.renew():
                raise
        return self._answer(base, path, body)

    def _answer(self, base: Base, path: str, body: bytes | None) -> dict[str, object]:
        headers = {"Accept": f"{_JSON}, application/json", "Content-Type": _JSON}
        own = self._credentials.headers(base)
        return answer(request(base.of(path), body, headers, own), self._credentials.tls)


def _refusal(no: Refused) -> Terminal:
    if no.status in _REFUSED:
        advice = "give them in the registry's URL, https://user:password@…, or in its properties"
        return Terminal(f"the schema registry {_REFUSED[no.status]} (HTTP {no.status})", advice)
    code, reason = (no.body or {}).get("error_code"), (no.body or {}).get("message")
    if not isinstance(code, int):
        # Somebody else's 404 must not make every id an unknown one.
        return NoRegistry(no.status)
    return RegistryRefuses(no.status, code, str(reason))


def request(
    url: Secret, body: bytes | None, headers: Mapping[str, str], secret: Mapping[str, Secret]
) -> urllib.request.Request:
    """Return a request; its secret headers do not go to whom an answer may redirect."""
    made = urllib.request.Request(url.reveal(), body, dict(headers))  # noqa: S310 - http(s): checked
    for name, value in secret.items():
        made.add_unredirected_header(name, value.reveal())
    return made


def answer(question: urllib.request.Request, tls: ssl.SSLContext) -> dict[str, object]:
    """Return the answer to a request."""
    try:
        with urllib.request.urlopen(question, timeout=TRY_LIMIT_S, context=tls) as response:  # noqa: S310 - as above
            found = _object(response.read())
            status = int(response.status)
    except HTTPError as error:
        with error:
            status, found = error.code, _object(_body(error))
        if status >= HTTPStatus.INTERNAL_SERVER_ERROR or status == HTTPStatus.TOO_MANY_REQUESTS:
            raise TryAgain(f"HTTP {status}") from None
        raise Refused(status, found) from None
    except URLError as error:
        raise TryAgain(_reason(error.reason)) from None
    except (OSError, http.client.HTTPException, UnicodeError) as error:
        raise TryAgain(_reason(error)) from None
    if found is None:
        raise Refused(status, None)
    return found


def _body(error: HTTPError) -> bytes:
    try:
        return error.read()
    except (OSError, http.client.HTTPException):
        return b""


def _object(body: bytes) -> dict[str, object] | None:
    try:
        found = json.loads(body)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _reason(error: object) -> str:
    """Return the system's words; a whole exception may say where the question went."""
    if isinstance(error, ssl.SSLError):
        # Its words name the host.
        return f"TLS: {error.reason or 'no connection'}"
    words = getattr(error, "strerror", None)
    return words if isinstance(words, str) else type(error).__name__
