"""HTTP to a search node: one connection, its login in no message."""

from __future__ import annotations

import http.client
import ssl
from dataclasses import dataclass, field
from typing import Final

from headrace.errors import Terminal, Transient
from headrace.urls import authorization_in, http_parts

REQUEST_LIMIT_S: Final = 60.0
# OpenSSL's numbers for a certificate of another name; its words would tell the name.
_OTHER_NAME: Final = frozenset({62, 64})


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back."""

    status: int
    body: bytes = field(repr=False)


class SearchNode:
    """Posts to the node of a URL that may hold a user and a password.

    `ca` are the certificates (PEM) that the node's is to be signed by, in place of the system's.
    """

    def __init__(
        self,
        url: str,
        api_key: str | None = None,
        ca: str | None = None,
        limit_s: float = REQUEST_LIMIT_S,
    ) -> None:
        invalid = Terminal(
            "the search sink's URL is not valid",
            "write it like https://user:password@search.example:9200",
        )
        self._parts = http_parts(url, invalid)
        self._ca = ca
        self._limit_s = limit_s
        self._connection: http.client.HTTPConnection | None = None
        self._headers = {"Content-Type": "application/x-ndjson", "Accept": "application/json"}
        if api_key is not None:
            self._headers["Authorization"] = f"ApiKey {api_key}"
        elif (login := authorization_in(self._parts)) is not None:
            self._headers["Authorization"] = login.reveal()

    def post(self, path: str, body: bytes) -> Answer:
        """Return the answer; a node that gives none, or none in time, is Transient."""
        connection = self._connection = self._connection or self._connect()
        try:
            connection.request("POST", self._parts.path.rstrip("/") + path, body, self._headers)
            with connection.getresponse() as response:
                return Answer(response.status, response.read())
        except ssl.SSLCertVerificationError as problem:
            self.close()
            raise _not_trusted(problem) from None
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

    def _connect(self) -> http.client.HTTPConnection:
        host, port = self._parts.hostname or "", self._parts.port
        if self._parts.scheme == "https":
            context = ssl.create_default_context(cadata=self._ca)
            return http.client.HTTPSConnection(host, port, timeout=self._limit_s, context=context)
        return http.client.HTTPConnection(host, port, timeout=self._limit_s)


def _not_trusted(problem: ssl.SSLCertVerificationError) -> Terminal:
    if problem.verify_code in _OTHER_NAME:
        return Terminal(
            "the search node's certificate is for another host",
            "use a name or an address of the certificate in the sink's url",
        )
    return Terminal(
        f"the search node's certificate cannot be verified: {problem.verify_message}",
        "name the certificate (PEM) of the authority that signed it in the sink's ca",
    )


def _words(problem: Exception) -> str:
    """Return the system's words; a whole exception may name the host."""
    if isinstance(problem, ssl.SSLError):
        return f"TLS: {problem.reason or 'no connection'}"
    if isinstance(problem, TimeoutError):
        return "it took too long"
    words = getattr(problem, "strerror", None)
    return words if isinstance(words, str) else type(problem).__name__
