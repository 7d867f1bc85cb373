"""An issuer of OAuth tokens for tests: client credentials on a loopback port."""

from __future__ import annotations

import base64
import json
import threading
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING
from urllib.parse import parse_qs, unquote_plus

if TYPE_CHECKING:
    from typing import Self


@dataclass
class TokenServer:
    """Gives a new token each time, to the client that it knows. `given` are its tokens."""

    client_id: str
    client_secret: str
    life_s: float = 3600.0
    given: list[str] = field(default_factory=list)
    scopes: list[str | None] = field(default_factory=list)
    statuses: list[int] = field(default_factory=list)
    _server: ThreadingHTTPServer | None = None

    def __enter__(self) -> Self:
        issuer = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length", 0))).decode()
                status, answer = issuer.answer(self.headers.get("Authorization", ""), body)
                content = json.dumps(answer).encode()
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            def log_message(self, *_: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._server is not None:
            self._server.shutdown()
            self._server.server_close()

    @property
    def url(self) -> str:
        assert self._server is not None
        return f"http://127.0.0.1:{self._server.server_port}/token"

    def answer(self, authorization: str, body: str) -> tuple[int, dict[str, object]]:
        """Answer one question."""
        form = parse_qs(body)
        self.scopes.append(form.get("scope", [None])[0])
        if self.statuses:
            return self.statuses.pop(0), {}
        kind, _, pair = authorization.partition(" ")
        user, _, password = base64.b64decode(pair).decode().partition(":")
        known = (unquote_plus(user), unquote_plus(password)) == (
            self.client_id,
            self.client_secret,
        )
        if kind != "Basic" or not known or form.get("grant_type") != ["client_credentials"]:
            return 401, {"error": "invalid_client"}
        self.given.append(f"token-{len(self.given)}")
        return 200, {
            "access_token": self.given[-1],
            "token_type": "Bearer",
            "expires_in": self.life_s,
        }
