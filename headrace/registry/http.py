"""The registry's REST interface: one question, one answer, tried a few times."""

from __future__ import annotations

import http.client
import json
import ssl
import urllib.request
from typing import TYPE_CHECKING, Final
from urllib.error import HTTPError, URLError

import stamina

from headrace.errors import Terminal, Transient

if TYPE_CHECKING:
    from headrace.registry.address import Endpoint

TRIES: Final = 4
TRY_LIMIT_S: Final = 5.0
ALL_TRIES_LIMIT_S: Final = 15.0
_JSON: Final = "application/vnd.schemaregistry.v1+json"
_TOO_MANY: Final = 429
_REFUSED: Final = {401: "does not know the user or the password", 403: "forbids it to this user"}


class RegistrySilent(Transient):
    """A registry that does not answer, or that says it cannot for now."""

    def __init__(self, reason: str) -> None:
        super().__init__(
            f"the schema registry does not answer ({reason})",
            "start it, or correct its URL in headrace.yaml",
        )


class RegistryRefuses(Terminal):
    """An answer that is a no: the HTTP status, the registry's code, and its reason."""

    def __init__(self, status: int, code: int, reason: str) -> None:
        self.status = status
        self.code = code
        self.reason = reason
        super().__init__(f"the schema registry refuses: {reason} ({code})")


class _TryAgain(Exception):
    """What another try may answer; it never says where the question went."""


class RegistryHttp:
    """Asks one registry."""

    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint

    def get(self, path: str) -> dict[str, object]:
        """Return what lies at that path."""
        return self._ask(path, None)

    def post(self, path: str, body: dict[str, object]) -> dict[str, object]:
        """Return the answer to that body."""
        return self._ask(path, json.dumps(body).encode())

    def _ask(self, path: str, body: bytes | None) -> dict[str, object]:
        tries = stamina.retry_context(
            on=_TryAgain,
            attempts=TRIES,
            timeout=ALL_TRIES_LIMIT_S,
            wait_initial=0.1,
            wait_max=1.0,
            wait_jitter=0.1,
        )
        try:
            for attempt in tries:
                with attempt:
                    return _answer(self._request(path, body))
        except _TryAgain as error:
            raise RegistrySilent(str(error)) from None
        raise RegistrySilent("no try was made")

    def _request(self, path: str, body: bytes | None) -> urllib.request.Request:
        url = self._endpoint.base.reveal() + path
        headers = {"Accept": f"{_JSON}, application/json", "Content-Type": _JSON}
        request = urllib.request.Request(url, body, headers)  # noqa: S310 - http(s): see endpoint()
        if self._endpoint.authorization is not None:
            # Not to whom an answer may redirect.
            request.add_unredirected_header("Authorization", self._endpoint.authorization.reveal())
        return request


def _answer(request: urllib.request.Request) -> dict[str, object]:
    try:
        with urllib.request.urlopen(request, timeout=TRY_LIMIT_S) as response:  # noqa: S310 - as above
            return _object(response.read(), response.status)
    except HTTPError as error:
        with error:
            raise _refusal(error.code, _body(error)) from None
    except URLError as error:
        raise _TryAgain(_reason(error.reason)) from None
    except (OSError, http.client.HTTPException, UnicodeError) as error:
        raise _TryAgain(_reason(error)) from None


def _body(error: HTTPError) -> bytes:
    try:
        return error.read()
    except (OSError, http.client.HTTPException):
        return b""


def _refusal(status: int, body: bytes) -> Exception:
    if status >= http.HTTPStatus.INTERNAL_SERVER_ERROR or status == _TOO_MANY:
        return _TryAgain(f"HTTP {status}")
    if status in _REFUSED:
        advice = "the registry's URL in headrace.yaml has them: https://user:password@…"
        return Terminal(f"the schema registry {_REFUSED[status]} (HTTP {status})", advice)
    answer = _object(body, status)
    code, reason = answer.get("error_code"), answer.get("message")
    if not isinstance(code, int):
        return _foreign(status)
    return RegistryRefuses(status, code, str(reason))


def _object(body: bytes, status: int) -> dict[str, object]:
    try:
        answer = json.loads(body)
    except ValueError:
        answer = None
    if not isinstance(answer, dict):
        raise _foreign(status) from None
    return answer


def _foreign(status: int) -> Terminal:
    # Somebody else's 404 must not make every id an unknown one.
    return Terminal(
        f"what answers at the schema registry's URL is no schema registry (HTTP {status})",
        "correct the URL in headrace.yaml; its path is the one before /subjects",
    )


def _reason(error: object) -> str:
    """Return the system's words; a whole exception may say where the question went."""
    if isinstance(error, ssl.SSLError):
        # Its words name the host.
        return f"TLS: {error.reason or 'no connection'}"
    words = getattr(error, "strerror", None)
    return words if isinstance(words, str) else type(error).__name__
