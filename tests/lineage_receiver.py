"""A receiver of OpenLineage's events, on loopback, which keeps them and checks them by the spec.

The spec's schemas are not part of this project: `HEADRACE_TEST_DATA` names the folder that holds
them, as `openlineage/spec` of OpenLineage's repository; `openlineage_spec.lock` has their hashes.
Without them events are kept unchecked.
"""

from __future__ import annotations

import json
import os
import threading
import time
from contextlib import contextmanager
from functools import cache
from hashlib import sha256
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jsonschema_rs

if TYPE_CHECKING:
    from collections.abc import Iterator

BESIDE = Path(__file__).parents[1].parent / "shared" / "data"
POLL_S = 0.02
REPOSITORY = Path(os.environ.get("HEADRACE_TEST_DATA", BESIDE)) / "openlineage"
LOCK = Path(__file__).with_name("openlineage_spec.lock")


class Receiver:
    """What has arrived. `status` is what it answers with, and `takes_s` how long that takes."""

    def __init__(self) -> None:
        self.events: list[dict[str, Any]] = []
        self.tokens: set[str | None] = set()
        self.status = 201
        self.takes_s = 0.0
        self.url = ""

    def of(self, job: str) -> list[dict[str, Any]]:
        """Return the events of a job, in the order of their arrival."""
        return [one for one in self.events if one["job"]["name"] == job]


@contextmanager
def receiving(port: int = 0) -> Iterator[Receiver]:
    """Receive events until left."""
    receiver = Receiver()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            time.sleep(receiver.takes_s)
            body = self.rfile.read(int(self.headers["content-length"]))
            if receiver.status < 300:
                assert self.path == "/api/v1/lineage"
                receiver.tokens.add(self.headers.get("authorization"))
                receiver.events.append(json.loads(body))
            self.send_response(receiver.status)
            self.send_header("content-length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
    receiver.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, args=(POLL_S,))
    thread.start()
    try:
        yield receiver
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def has_spec() -> bool:
    """Whether the schemas are there."""
    return (REPOSITORY / "spec" / "OpenLineage.json").is_file()


@cache
def _schemas() -> dict[str, Any]:
    schemas = []
    for line in LOCK.read_text(encoding="utf-8").splitlines():
        digest, _, path = line.partition("  ")
        if not digest.startswith("#"):
            text = (REPOSITORY / path).read_bytes()
            assert sha256(text).hexdigest() == digest, f"{path} is not the one of {LOCK.name}"
            schemas.append(json.loads(text))
    return {one["$id"]: one for one in schemas}


def misfits(event: dict[str, Any]) -> list[str]:
    """Return in what an event differs from the spec: as a whole, and facet by facet."""
    found = _misfits(event, event["schemaURL"])
    for name, facet in _facets(event):
        found += [f"{name}: {one}" for one in _misfits({name: facet}, facet["_schemaURL"], of=name)]
    return found


def _misfits(value: object, url: str, of: str = "") -> list[str]:
    base, _, _ = url.partition("#")
    schemas = _schemas()
    if base not in schemas:
        return [f"the spec has no {base}"]
    registry = jsonschema_rs.Registry(list(schemas.items()))
    schema = {"$ref": base} if of else {"$ref": url}
    validator = jsonschema_rs.Draft202012Validator(schema, registry=registry, validate_formats=True)
    return [str(one) for one in validator.iter_errors(value)]


def _facets(event: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    yield from event["run"]["facets"].items()
    yield from event["job"]["facets"].items()
    for one in [*event["inputs"], *event["outputs"]]:
        for kind in ("facets", "inputFacets", "outputFacets"):
            yield from one.get(kind, {}).items()
