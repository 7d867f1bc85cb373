"""A REST catalog for tests: Iceberg's protocol on a loopback port, over a catalog in a file.

What it holds and when it refuses is pyiceberg's SQL catalog's; the wire is the real one, spoken by
pyiceberg's client and by Spark's.
"""

from __future__ import annotations

import json
import threading
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

from pyiceberg.catalog.rest import CreateTableRequest, TableResponse
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.exceptions import (
    CommitFailedException,
    NamespaceAlreadyExistsError,
    NoSuchNamespaceError,
    NoSuchTableError,
    TableAlreadyExistsError,
)
from pyiceberg.table import CommitTableRequest
from pyiceberg.table.sorting import UNSORTED_SORT_ORDER

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path
    from typing import Self

    from pyiceberg.table import Table

TOKEN = "not-to-be-seen"  # noqa: S105 - of a server on a loopback, for the length of a test
SEPARATOR = "\x1f"
REFUSED: dict[type[Exception], int] = {
    NoSuchNamespaceError: 404,
    NoSuchTableError: 404,
    NamespaceAlreadyExistsError: 409,
    TableAlreadyExistsError: 409,
    CommitFailedException: 409,
}
Name = tuple[str, ...]


@dataclass
class RestCatalogServer:
    """A catalog that can be made to take a commit and lose its answer."""

    root: Path
    lost_answers: int = 0
    commits: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def __enter__(self) -> Self:
        place = {"uri": f"sqlite:///{self.root}/rest.db", "warehouse": f"file://{self.root}"}
        self._catalog = SqlCatalog("held", **place)
        held = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                held.answer(self, held.get)

            def do_HEAD(self) -> None:
                held.answer(self, held.get)

            def do_POST(self) -> None:
                held.answer(self, held.post)

            def log_message(self, *_: object) -> None:
                """Be quiet."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._catalog.close()

    @property
    def properties(self) -> dict[str, str]:
        """What a catalog's file says, for its tables to be here."""
        return {"uri": f"http://127.0.0.1:{self._server.server_address[1]}", "token": TOKEN}

    def answer(
        self, asked: BaseHTTPRequestHandler, how: Callable[[list[str], bytes], tuple[int, bytes]]
    ) -> None:
        """Answer a request, or close the connection after it was done."""
        body = asked.rfile.read(int(asked.headers.get("Content-Length", 0)))
        parts = [unquote(part) for part in urlsplit(asked.path).path.strip("/").split("/")[1:]]
        if asked.headers.get("Authorization") != f"Bearer {TOKEN}":
            status, answer = _error(401, "NotAuthorizedException", "who are you?")
        else:
            # One at a time: the catalog's own is an embedded one.
            with self._lock:
                status, answer = self._done(how, parts, body)
        if status == 200 and parts[-2:-1] == ["tables"] and asked.command == "POST":
            self.commits += 1
            if self.lost_answers:
                self.lost_answers -= 1
                asked.close_connection = True
                return
        asked.send_response(status)
        asked.send_header("Content-Type", "application/json")
        asked.send_header("Content-Length", str(len(answer)))
        asked.end_headers()
        if asked.command != "HEAD":
            asked.wfile.write(answer)

    def get(self, parts: list[str], _body: bytes) -> tuple[int, bytes]:
        """Tell what there is."""
        match parts:
            case ["config"]:
                return _found({"defaults": {}, "overrides": {}})
            case ["namespaces"]:
                return _found(
                    {"namespaces": [list(one) for one in self._catalog.list_namespaces()]}
                )
            case ["namespaces", name]:
                properties = dict(self._catalog.load_namespace_properties(_name(name)))
                return _found({"namespace": list(_name(name)), "properties": properties})
            case ["namespaces", name, "tables"]:
                tables = self._catalog.list_tables(_name(name))
                told = [{"namespace": list(one[:-1]), "name": one[-1]} for one in tables]
                return _found({"identifiers": told})
            case ["namespaces", name, "tables", table]:
                return _table(self._catalog.load_table((*_name(name), table)))
        return _error(404, "NotFoundException", "there is nothing")

    def post(self, parts: list[str], body: bytes) -> tuple[int, bytes]:
        """Make a namespace or a table, or change a table."""
        match parts:
            case ["namespaces"]:
                said = json.loads(body)
                self._catalog.create_namespace(tuple(said["namespace"]), said["properties"])
                return _found(said)
            case ["namespaces", name, "tables"]:
                return _table(self._made(_name(name), body))
            case ["namespaces", name, "tables", table]:
                # Whose table it is stands in the path; Java's client does not say it again.
                named = {"identifier": {"namespace": list(_name(name)), "name": table}}
                change = CommitTableRequest.model_validate({**named, **json.loads(body)})
                held = self._catalog.load_table((*_name(name), table))
                done = self._catalog.commit_table(held, change.requirements, change.updates)
                return 200, done.model_dump_json(by_alias=True, exclude_none=True).encode()
            case [*_, "metrics"]:
                return 204, b""
        return _error(404, "NotFoundException", "there is nothing")

    def _made(self, namespace: Name, body: bytes) -> Table:
        left_out = dict.fromkeys(("location", "partition-spec", "write-order"))
        asked = CreateTableRequest.model_validate({**left_out, **json.loads(body)})
        more: dict[str, Any] = {}
        if asked.partition_spec is not None:
            more["partition_spec"] = asked.partition_spec
        return self._catalog.create_table(
            (*namespace, asked.name),
            asked.table_schema,
            asked.location,
            sort_order=asked.write_order or UNSORTED_SORT_ORDER,
            properties=asked.properties,
            **more,
        )

    def _done(
        self, how: Callable[[list[str], bytes], tuple[int, bytes]], parts: list[str], body: bytes
    ) -> tuple[int, bytes]:
        try:
            return how(parts, body)
        except tuple(REFUSED) as refused:
            return _error(REFUSED[type(refused)], type(refused).__name__, str(refused))


def _name(text: str) -> Name:
    return tuple(text.split(SEPARATOR))


def _found(answer: object) -> tuple[int, bytes]:
    return 200, json.dumps(answer).encode()


def _table(table: Table) -> tuple[int, bytes]:
    told = TableResponse(metadata_location=table.metadata_location, metadata=table.metadata)
    return 200, told.model_dump_json(by_alias=True, exclude_none=True).encode()


def _error(status: int, kind: str, message: str) -> tuple[int, bytes]:
    return status, json.dumps(
        {"error": {"message": message, "type": kind, "code": status}}
    ).encode()
