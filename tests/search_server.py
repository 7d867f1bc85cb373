"""A search node for tests: bulk requests on a loopback port, documents kept in memory."""

from __future__ import annotations

import base64
import json
import threading
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

if TYPE_CHECKING:
    from typing import Self

BULK = "_bulk"


@dataclass
class SearchServer:
    """Takes `index` actions as Elasticsearch does, and can be made to fail.

    `documents` has the documents by index and id, `requests` how many documents each request
    had, `writes` how often each id was written. A document whose `id` is negative is refused as
    one that does not fit the mapping.
    """

    password: str | None = None
    largest_bytes: int = 10**9
    documents: dict[str, dict[str, Any]] = field(default_factory=dict)
    requests: list[int] = field(default_factory=list)
    writes: dict[str, int] = field(default_factory=dict)
    busy_items: int = 0
    item_status: int | None = None
    _failures: list[tuple[int, bytes]] = field(default_factory=list)
    _server: ThreadingHTTPServer | None = None
    _silent: threading.Event | None = None

    def __enter__(self) -> Self:
        node = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                node.answer(self)

            def log_message(self, *_: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._silent is not None:
            self._silent.set()
        if self._server is not None:
            self._server.shutdown()
            self._server.server_close()

    @property
    def url(self) -> str:
        """Where it is, with the password in it."""
        user = f"elastic:{self.password}@" if self.password else ""
        port = self._server.server_port if self._server else 0
        return f"http://{user}127.0.0.1:{port}"

    def fail_next(self, status: int, times: int = 1, body: bytes = b"{}") -> None:
        """Give the next requests that status in place of an answer."""
        self._failures += [(status, body)] * times

    def fall_silent(self) -> None:
        """Take requests, and answer none before the end."""
        self._silent = threading.Event()

    def answer(self, handler: BaseHTTPRequestHandler) -> None:
        """Answer one request."""
        body = handler.rfile.read(int(handler.headers["Content-Length"]))
        if self._silent is not None:
            self._silent.wait()
            return
        status, content = self._answer(handler, body)
        handler.send_response(status)
        handler.send_header("Content-Type", "application/json")
        handler.send_header("Content-Length", str(len(content)))
        handler.end_headers()
        handler.wfile.write(content)

    def _answer(self, handler: BaseHTTPRequestHandler, body: bytes) -> tuple[int, bytes]:
        index, _, action = handler.path.strip("/").partition("/")
        pair = base64.b64encode(f"elastic:{self.password}".encode()).decode()
        if self.password and handler.headers.get("Authorization") != f"Basic {pair}":
            return 401, b'{"status": 401}'
        if action != BULK or handler.headers["Content-Type"] != "application/x-ndjson":
            return 404, b"no such path"
        if self._failures:
            return self._failures.pop(0)
        if len(body) > self.largest_bytes:
            return 413, b""
        lines = body.split(b"\n")
        assert lines.pop() == b""
        pairs = list(zip(lines[::2], lines[1::2], strict=True))
        self.requests.append(len(pairs))
        items = [
            self._item(unquote(index), json.loads(head), json.loads(doc)) for head, doc in pairs
        ]
        errors = any(item["index"]["status"] >= 400 for item in items)
        return 200, json.dumps({"took": 1, "errors": errors, "items": items}).encode()

    def _item(self, index: str, action: dict[str, Any], document: dict[str, Any]) -> dict[str, Any]:
        (name,) = action["index"].values()
        result: dict[str, Any] = {"_index": index, "_id": name}
        if self.busy_items:
            self.busy_items -= 1
            error: dict[str, Any] = {
                "type": "es_rejected_execution_exception",
                "reason": "rejected",
            }
            return {"index": {**result, "status": 429, "error": error}}
        if self.item_status is not None:
            error = {"type": "cluster_block_exception", "reason": "index is read-only"}
            return {"index": {**result, "status": self.item_status, "error": error}}
        if document.get("id", 0) < 0:
            cause: dict[str, Any] = {
                "type": "illegal_argument_exception",
                "reason": "it is negative",
            }
            error = {
                "type": "mapper_parsing_exception",
                "reason": "failed to parse",
                "caused_by": cause,
            }
            return {"index": {**result, "status": 400, "error": error}}
        known = self.documents.setdefault(index, {})
        status = 200 if name in known else 201
        known[name] = document
        self.writes[name] = self.writes.get(name, 0) + 1
        return {"index": {**result, "status": status}}
