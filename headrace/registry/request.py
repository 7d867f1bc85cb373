"""One HTTP request and its answer, a JSON object; nothing in an error says where it went."""

from __future__ import annotations

import http.client
import json
import ssl
import urllib.request
from typing import TYPE_CHECKING, Final
from urllib.error import HTTPError, URLError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from headrace.config.secret import Secret

TRY_LIMIT_S: Final = 5.0
_TOO_MANY: Final = 429


class TryAgain(Exception):
    """What another try may answer."""


class Refused(Exception):
    """An answer that is a no, or that is none: `body` is None where it is no JSON object."""

    def __init__(self, status: int, body: Mapping[str, object] | None) -> None:
        super().__init__(status)
        self.status = status
        self.body = body


def request(
    url: Secret, body: bytes | None, headers: Mapping[str, str], secret: Mapping[str, Secret]
) -> urllib.request.Request:
    """Return a request; its secret headers do not go to whom an answer may redirect."""
    made = urllib.request.Request(url.reveal(), body, dict(headers))  # noqa: S310 - http(s): checked
    for name, value in secret.items():
        made.add_unredirected_header(name, value.reveal())
    return made


def answer(asked: urllib.request.Request, tls: ssl.SSLContext) -> dict[str, object]:
    """Return the answer to a request."""
    try:
        with urllib.request.urlopen(asked, timeout=TRY_LIMIT_S, context=tls) as response:  # noqa: S310 - as above
            found = _object(response.read())
            status = int(response.status)
    except HTTPError as error:
        with error:
            status, found = error.code, _object(_body(error))
        if status >= http.HTTPStatus.INTERNAL_SERVER_ERROR or status == _TOO_MANY:
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
