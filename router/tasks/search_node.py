"""HTTP to a search node: one connection, its password in no message."""

from __future__ import annotations

import base64
import http.client
import ssl
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import TYPE_CHECKING, Final
from urllib.parse import unquote, urlsplit

from headrace.errors import Terminal, Transient

if TYPE_CHECKING:
    from urllib.parse import SplitResult

    from headrace.errors import HeadraceError

REQUEST_LIMIT_S: Final = 60.0


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back."""

    status: int
    body: bytes = field(repr=False)


class SearchNode:
    """Posts to the node of a URL that may hold a user and a password."""

    def __init__(self, url: str, limit_s: float = REQUEST_LIMIT_S) -> None:
        self._parts = _parts(url)
        self._limit_s = limit_s
        self._connection: http.client.HTTPConnection | None = None
        self._headers = {"Content-Type": "application/x-ndjson", "Accept": "application/json"}
        if self._parts.username is not None:
            pair = f"{unquote(self._parts.username)}:{unquote(self._parts.password or '')}"
            self._headers["Authorization"] = f"Basic {base64.b64encode(pair.encode()).decode()}"

    def post(self, path: str, body: bytes) -> Answer:
        """Return the answer; a node that gives none, or none in time, is Transient."""
        connection = self._connection = self._connection or self._connect()
        try:
            connection.request("POST", self._parts.path.rstrip("/") + path, body, self._headers)
            with connection.getresponse() as response:
                return Answer(response.status, response.read())
        except (OSError, http.client.HTTPException) as problem:
            self.close()
            raise Transient(
                f"the search node does not answer ({_words(problem)})",
                "start it, or correct the sink's url",
            ) from None

    def close(self) -> None:
        """Let go of the connection; the next request makes another."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def refusal(self, answer: Answer) -> HeadraceError:
        """Return the error that an answer to a whole request stands for."""
        if answer.status >= HTTPStatus.INTERNAL_SERVER_ERROR:
            return Transient(
                f"the search node cannot accept requests at the moment (HTTP {answer.status})"
            )
        if answer.status in {HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN}:
            return Terminal(
                f"the search node forbids the request (HTTP {answer.status})",
                "give the user and the password in the sink's url: https://user:password@…",
            )
        said = answer.body[:200].decode(errors="replace").strip()
        return Terminal(
            f"the search node rejects a bulk request (HTTP {answer.status}): {said}",
            "correct the sink's url; its path is the part before the index",
        )

    def _connect(self) -> http.client.HTTPConnection:
        host, port = self._parts.hostname or "", self._parts.port
        if self._parts.scheme == "https":
            context = ssl.create_default_context()
            return http.client.HTTPSConnection(host, port, timeout=self._limit_s, context=context)
        return http.client.HTTPConnection(host, port, timeout=self._limit_s)


def _parts(url: str) -> SplitResult:
    try:
        parts = urlsplit(url.strip())
        is_valid = parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:
        is_valid = False
    if not is_valid:
        raise Terminal(
            "the search sink's URL is not valid",
            "write it like https://user:password@search.example:9200",
        )
    return parts


def _words(problem: Exception) -> str:
    """Return the system's words; a whole exception may name the host."""
    if isinstance(problem, ssl.SSLError):
        return f"TLS: {problem.reason or 'no connection'}"
    if isinstance(problem, TimeoutError):
        return "it took too long"
    words = getattr(problem, "strerror", None)
    return words if isinstance(words, str) else type(problem).__name__
