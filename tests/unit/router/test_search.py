"""Search documents and answers, without a node; what real nodes say is in the integration tests."""

from __future__ import annotations

import json
import socket
import ssl
import threading
from typing import TYPE_CHECKING

import pytest

from headrace.contract import ORIGIN
from headrace.errors import HeadraceError, Terminal, Transient
from router.plan.model import ToSearch
from router.tasks.search_answers import Item, index_fault, parse_items, request_fault
from router.tasks.search_documents import document_of
from router.tasks.search_node import SearchNode
from tests.certificates import Authority

if TYPE_CHECKING:
    from pathlib import Path

    from headrace.records.rows import Headers

TARGET = ToSearch("http://127.0.0.1:1", "events", "user", 10, topic_id="one")


def origin(offset: int, partition: int = 0) -> Headers:
    return [(ORIGIN, f"a/b-c/{partition}/{offset}/1700".encode())]


def version(offset: int, partition: int = 0, topic_id: str = "one") -> int:
    target = ToSearch("http://h", "events", "user", 10, topic_id=topic_id)
    found = document_of(target, b"{}", "k", origin(offset, partition)).version
    assert found is not None
    return found


def test_versions_grow_with_the_offset_and_tell_partitions_apart() -> None:
    assert version(0) < version(1) < version(2**46)
    assert version(2**46) < 2**63 - 1
    of_partitions = {version(5, partition) for partition in range(100)}
    assert len(of_partitions) == 100
    assert version(5, topic_id="two") not in of_partitions
    document = document_of(TARGET, b"{}", "k", origin(5))
    assert document.is_older_than(version(6))
    assert document.is_older_than(None)
    assert not document.is_older_than(version(6, partition=1))
    assert not document.is_older_than(version(6, topic_id="two"))
    action, body = document.lines.splitlines()
    assert json.loads(action) == {
        "index": {"_id": "k", "version": version(5), "version_type": "external_gte"}
    }
    assert body == b"{}"
    assert document.without_version().lines == b'{"index": {"_id": "k"}}\n{}\n'


def test_an_id_of_the_position_has_no_version() -> None:
    """Nothing newer can have it."""
    document = document_of(TARGET, None, None, [(ORIGIN, "a/b-c/0/5/1700")])
    assert document.lines == b'{"index": {"_id": "a/b-c-0-5"}}\n{}\n'
    with pytest.raises(Terminal, match="no topic, partition and offset"):
        document_of(TARGET, None, None, [])


def test_answers_that_are_none_to_bulk_requests() -> None:
    for body in (b"<html>", b"[]", b'{"errors": false, "items": []}'):
        with pytest.raises(Terminal, match="does not answer bulk requests"):
            parse_items(body, 1)


@pytest.mark.parametrize(
    ("status", "kind"), [(500, Transient), (503, Transient), (400, Terminal), (401, Terminal)]
)
def test_faults_of_a_request(status: int, kind: type[HeadraceError]) -> None:
    with pytest.raises(kind, match=f"HTTP {status}"):
        raise request_fault("events", status, b"{}")


@pytest.mark.parametrize("status", [429, 503])
def test_faults_that_pass_by_themselves(status: int) -> None:
    with pytest.raises(Transient, match=f"takes no documents .HTTP {status}"):
        raise index_fault("events", Item(status))


def test_words_of_a_node_are_cut() -> None:
    body = json.dumps({"error": {"type": "t", "reason": "x" * 10_000}}).encode()
    assert len(str(request_fault("events", 403, body))) < 1_000


class Listener:
    """Listens on the loopback; takes the first request, and answers none."""

    def __init__(self, tls: ssl.SSLContext | None = None) -> None:
        self._socket = socket.create_server(("127.0.0.1", 0))
        self._tls = tls
        self.port = self._socket.getsockname()[1]
        self.heard = b""

    def __enter__(self) -> Listener:
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._thread.join(10)
        self._socket.close()

    def _serve(self) -> None:
        connection, _ = self._socket.accept()
        with connection:
            if self._tls is None:
                self.heard = connection.recv(65_536)
                return
            try:
                self._tls.wrap_socket(connection, server_side=True).close()
            except OSError:
                return


@pytest.mark.parametrize(
    ("login", "api_key", "header"),
    [
        ("el%40stic:hunter2@", None, b"Basic ZWxAc3RpYzpodW50ZXIy"),
        ("", "aWQ6aHVudGVyMg==", b"ApiKey aWQ6aHVudGVyMg=="),
    ],
)
def test_the_login_goes_to_the_node_and_into_no_message(
    login: str, api_key: str | None, header: bytes
) -> None:
    with Listener() as listener:
        node = SearchNode(f"http://{login}127.0.0.1:{listener.port}", api_key)
        with pytest.raises(Transient, match="does not answer") as caught:
            node.post("/x/_bulk", b"")
    assert b"Authorization: " + header in listener.heard
    target = ToSearch(f"http://{login}h", "events", None, 10, api_key)
    for said in (f"{caught.value}{caught.value.__context__!r}{target!r}",):
        assert "hunter" not in said
        assert "aWQ6" not in said


def test_a_node_that_does_not_answer() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        node = SearchNode(f"http://127.0.0.1:{silent.getsockname()[1]}", limit_s=0.05)
        with pytest.raises(Transient, match=r"does not answer \(it took too long\)"):
            node.post("/x/_bulk", b"")
    with pytest.raises(Transient, match="Connection refused"):
        SearchNode("http://127.0.0.1:1").post("/x/_bulk", b"")
    with pytest.raises(Terminal, match="URL is not valid"):
        SearchNode("ftp://user:hunter2@host")


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return Authority(tmp_path, "house")


def server_tls(authority: Authority, *, days: int = 1) -> ssl.SSLContext:
    issued = authority.issue("node", days=days)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(issued.certificate, issued.key)
    return context


@pytest.mark.parametrize(
    ("host", "days", "trusted", "said"),
    [
        ("127.0.0.1", 1, False, "cannot be verified: .*\n  → name the certificate .* sink's ca"),
        ("127.0.0.1", -1, True, "cannot be verified: certificate has expired"),
        ("localhost", 1, True, "is for another host\n  → use a name"),
    ],
)
def test_a_certificate_that_does_not_verify_is_final(
    authority: Authority, host: str, days: int, *, trusted: bool, said: str
) -> None:
    ca = authority.certificate.read_text() if trusted else None
    with Listener(server_tls(authority, days=days)) as listener:
        node = SearchNode(f"https://{host}:{listener.port}", ca=ca)
        with pytest.raises(Terminal, match=said):
            node.post("/x/_bulk", b"")


def test_a_ca_of_the_sink_is_trusted(authority: Authority) -> None:
    with Listener(server_tls(authority)) as listener:
        node = SearchNode(
            f"https://127.0.0.1:{listener.port}", ca=authority.certificate.read_text()
        )
        with pytest.raises(Transient, match="does not answer"):
            node.post("/x/_bulk", b"")
