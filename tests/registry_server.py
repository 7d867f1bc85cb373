"""A schema registry for tests: Confluent's REST interface on a loopback port, kept in memory."""

from __future__ import annotations

import base64
import hashlib
import json
import threading
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, quote, unquote, urlsplit
from uuid import UUID

if TYPE_CHECKING:
    import ssl
    from collections.abc import Sequence
    from typing import Self

Answer = tuple[int, dict[str, object]]


@dataclass(frozen=True)
class Held:
    """A schema under its id."""

    id: int
    text: str
    form: str = "AVRO"
    references: tuple[dict[str, object], ...] = ()
    context: str = ""

    @property
    def guid(self) -> UUID:
        return UUID(bytes=hashlib.md5(self.text.encode(), usedforsecurity=False).digest())

    def as_answer(self) -> dict[str, object]:
        answer: dict[str, object] = {"schema": self.text, "guid": str(self.guid)}
        if self.form != "AVRO":
            answer["schemaType"] = self.form
        if self.references:
            answer["references"] = list(self.references)
        return answer


@dataclass
class RegistryServer:
    """A registry that can be stopped, started again, and made to fail.

    What it knows outlives a stop. `asked` has the path of every question that reached it. Each
    context (`:.context:subject`) has ids of its own. Where there are `tokens`, only they let in.
    """

    user: str | None = None
    password: str = ""
    first_id: int = 1
    tls: ssl.SSLContext | None = None
    tokens: list[str] | None = None
    asked: list[str] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    _held: list[Held] = field(default_factory=list)
    _subjects: dict[str, list[Held]] = field(default_factory=dict)
    _refused: dict[str, str] = field(default_factory=dict)
    _failures: list[tuple[int, bytes]] = field(default_factory=list)
    _port: int = 0
    _server: ThreadingHTTPServer | None = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def start(self) -> None:
        """Answer, on the port of the last time."""
        registry = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                registry.answer(self, None)

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                registry.answer(self, json.loads(body))

            def log_message(self, *_: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", self._port), Handler)
        if self.tls is not None:
            # Shaken hands with in the thread of the request, so that nobody holds up the others.
            self._server.socket = self.tls.wrap_socket(
                self._server.socket, server_side=True, do_handshake_on_connect=False
            )
        self._port = self._server.server_port
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()

    def stop(self) -> None:
        """Answer nobody."""
        if self._server is not None:
            self._server.shutdown()
            self._server.server_close()
            self._server = None

    @property
    def url(self) -> str:
        """Where it is, with the user and the password in it."""
        password = quote(self.password, safe="")
        user = f"{self.user}:{password}@" if self.user is not None else ""
        return f"http{'s' if self.tls else ''}://{user}127.0.0.1:{self._port}"

    def forget(self) -> None:
        """Be as if re-created: at the same place, and with nothing in it."""
        self._held.clear()
        self._subjects.clear()

    def fail_next(self, times: int, status: int = 500, body: bytes = b"") -> None:
        """Give the next questions that status in place of an answer."""
        self._failures += [(status, body)] * times

    def refuse(self, subject: str, reason: str) -> None:
        """Find every further schema of that subject incompatible."""
        self._refused[subject] = reason

    def put(
        self,
        subject: str,
        schema: object,
        *,
        form: str = "AVRO",
        references: Sequence[dict[str, object]] = (),
    ) -> Held:
        """Register a schema without asking whether it is compatible."""
        text = schema if isinstance(schema, str) else json.dumps(schema)
        context = _context_of(subject)
        there = [one for one in self._held if one.context == context]
        same = (one for one in there if one.text == text and one.form == form)
        held = next(same, None)
        if held is None:
            number = self.first_id + len(there)
            held = Held(number, text, form, tuple(references), context)
            self._held.append(held)
        versions = self._subjects.setdefault(subject, [])
        if held not in versions:
            versions.append(held)
        return held

    def answer(self, handler: BaseHTTPRequestHandler, body: dict[str, Any] | None) -> None:
        """Answer one question."""
        self.asked.append(handler.path)
        self.headers.append(dict(handler.headers.items()))
        if self._failures:
            status, failure = self._failures.pop(0)
            content = failure
        elif not self._admits(handler.headers.get("Authorization")):
            status, content = 401, b'{"error_code": 401, "message": "Unauthorized"}'
        else:
            asked = urlsplit(handler.path)
            parts = [unquote(part) for part in asked.path.strip("/").split("/")]
            subject = parse_qs(asked.query).get("subject", [""])[0]
            status, found = self._route(parts, body, _context_of(subject))
            content = json.dumps(found).encode()
        handler.send_response(status)
        handler.send_header("Content-Type", "application/vnd.schemaregistry.v1+json")
        handler.send_header("Content-Length", str(len(content)))
        handler.end_headers()
        handler.wfile.write(content)

    def _admits(self, authorization: str | None) -> bool:
        if self.tokens is not None:
            return authorization in [f"Bearer {one}" for one in self.tokens]
        pair = base64.b64encode(f"{self.user}:{self.password}".encode()).decode()
        return self.user is None or authorization == f"Basic {pair}"

    def _route(self, parts: list[str], body: dict[str, Any] | None, context: str) -> Answer:
        match parts, body:
            case ["schemas", "ids", said], None:
                there = (one for one in self._held if one.context == context)
                held = next((one for one in there if str(one.id) == said), None)
            case ["schemas", "guids", said], None:
                held = next((one for one in self._held if str(one.guid) == said), None)
            case ["subjects", subject, "versions", said], None:
                return self._version(subject, said)
            case ["subjects", subject, "versions"], dict():
                return self._registered(subject, body)
            case ["subjects", subject], dict():
                return self._looked_up(subject, body)
            case _:
                return 404, {"error_code": 404, "message": "HTTP 404 Not Found"}
        if held is None:
            return 404, {"error_code": 40403, "message": "Schema not found"}
        return 200, held.as_answer()

    def _version(self, subject: str, said: str) -> Answer:
        versions = self._subjects.get(subject)
        if not versions:
            return 404, {"error_code": 40401, "message": f"Subject '{subject}' not found."}
        number = len(versions) if said == "latest" else int(said)
        if not 1 <= number <= len(versions):
            return 404, {"error_code": 40402, "message": f"Version {said} not found."}
        return 200, self._as_version(subject, number)

    def _as_version(self, subject: str, number: int) -> dict[str, object]:
        held = self._subjects[subject][number - 1]
        return {"subject": subject, "version": number, "id": held.id, **held.as_answer()}

    def _registered(self, subject: str, body: dict[str, Any]) -> Answer:
        text = body["schema"]
        try:
            new = json.loads(text)
        except ValueError:
            return 422, {"error_code": 42201, "message": "Invalid schema"}
        versions = self._subjects.get(subject, [])
        if not any(one.text == text for one in versions):
            reason = self._refused.get(subject)
            if versions and reason is None:
                reason = _incompatibility(json.loads(versions[-1].text), new)
            if reason is not None:
                return 409, {"error_code": 409, "message": reason}
        return 200, {"id": self.put(subject, text).id}

    def _looked_up(self, subject: str, body: dict[str, Any]) -> Answer:
        versions = self._subjects.get(subject, [])
        for number, held in enumerate(versions, start=1):
            if held.text == body["schema"]:
                return 200, self._as_version(subject, number)
        return 404, {"error_code": 40403, "message": "Schema not found"}


def _context_of(subject: str) -> str:
    return subject[: subject.index(":", 1) + 1] if subject.startswith(":.") else ""


def _incompatibility(old: dict[str, Any], new: dict[str, Any]) -> str | None:
    """Say why a reader of the new schema cannot read the old one's records: only the plain cases."""
    known = {one["name"]: one["type"] for one in old.get("fields", [])}
    for one in new.get("fields", []):
        if one["name"] not in known and "default" not in one:
            return f"READER_FIELD_MISSING_DEFAULT_VALUE: {one['name']}"
        if one["name"] in known and known[one["name"]] != one["type"]:
            return f"TYPE_MISMATCH: {one['name']}"
    return None
