"""Who is answered, asked over real sockets."""

from __future__ import annotations

import json
import socket
import threading
from typing import TYPE_CHECKING

import pytest

from headrace.embedded.process import wait_until
from headrace.errors import Terminal, UsageError
from headrace.http import connections
from headrace.http.address import TOKEN, Address, parse_address
from headrace.http.board import Board, Facts
from headrace.http.connections import MOST_CONNECTIONS
from headrace.http.rows import NotReady
from headrace.http.server import serving
from headrace.signals import Drain
from tests.limits import LIMIT_S
from tests.unit.http.pages_facts import SECRET, Served, served

if TYPE_CHECKING:
    from collections.abc import Sequence

    from headrace.http.rows import StreamRow

PATHS = ("/livez", "/readyz", "/metrics", "/api/v1/streams", "/api/v1/replays/one")


class Resting(Facts):
    def jobs(self) -> list[tuple[str, str]]:
        return [("stream", "plays")]

    def not_ready(self) -> list[NotReady]:
        return [NotReady("stream", "plays", "starts", "no Kafka broker answers")]

    def streams(self) -> Sequence[StreamRow]:
        message = "a word that nobody shall see"
        raise RuntimeError(message)


@pytest.mark.parametrize("path", PATHS)
def test_another_name_for_this_address_is_refused(path: str) -> None:
    with served() as one:
        for host in (
            "evil.example",
            f"evil.example:{one.port}",
            "127.0.0.1.evil.example",
            "[::1",
            "",
            "10.0.0.1",
            "127.0.0.1@evil.example",
        ):
            refused = one.ask(path, Host=host)
            assert refused.status in {400, 421}, host
        for host in (
            "localhost",
            f"LOCALHOST:{one.port}",
            f"127.0.0.1:{one.port}",
            f"[::1]:{one.port}",
        ):
            assert one.ask(path, Host=host).status in {200, 404, 503}, host


def test_a_page_of_another_origin_may_not_read_or_frame_an_answer() -> None:
    with served() as one:
        headers = one.ask("/livez", Origin="http://evil.example").headers
        assert "access-control-allow-origin" not in headers
        assert headers["cross-origin-resource-policy"] == "same-origin"
        assert headers["x-content-type-options"] == "nosniff"
        assert "frame-ancestors 'none'" in headers["content-security-policy"]


@pytest.mark.parametrize(
    "given",
    [None, "", "Bearer", "Bearer wrong", f"Basic {SECRET}", f"Bearer {SECRET}x", "Bearer \xe9"],
)
def test_beyond_loopback_nothing_is_told_without_the_token(given: str | None) -> None:
    headers = {} if given is None else {"Authorization": given}
    with served(Resting(), is_open=True) as one:
        for path in ("/metrics", "/api/v1/streams", "/api/v1/replays/one", "/", "/nope"):
            refused = one.ask(path, **headers)
            assert refused.status == 401
            assert refused.headers["www-authenticate"].startswith("Bearer")
            assert "plays" not in refused.body
        # Probes carry no secret, and learn nothing but a word.
        assert one.ask("/livez", **headers).status == 200
        ready = one.ask("/readyz", **headers)
        assert (ready.status, json.loads(ready.body)) == (503, {"status": "not ready"})


def test_beyond_loopback_the_token_opens_it_under_any_name() -> None:
    with served(Resting(), is_open=True) as one:
        known = {"Authorization": f"bearer {SECRET}", "Host": "headrace.example"}
        assert 'headrace_job_up{kind="stream",name="plays"} 0' in one.ask("/metrics", **known).body
        (away,) = json.loads(one.ask("/readyz", **known).body)["not_ready"]
        assert away["problem"] == "no Kafka broker answers"


@pytest.mark.parametrize("text", ["0.0.0.0:8484", "[::]:8484", "10.1.2.3:1", "headrace.example:80"])
def test_beyond_loopback_needs_a_token(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(TOKEN, raising=False)
    with pytest.raises(UsageError, match="there is no token"):
        parse_address(text)
    monkeypatch.setenv(TOKEN, "short")
    with pytest.raises(UsageError, match="fewer than 16") as short:
        parse_address(text)
    assert "short" not in str(short.value).replace("shorter", "")
    monkeypatch.setenv(TOKEN, SECRET)
    address = parse_address(text)
    assert address.token is not None
    assert SECRET not in f"{address} {address!r}"


@pytest.mark.parametrize(
    ("text", "host", "port"),
    [
        ("8484", "127.0.0.1", 8484),
        ("127.0.0.1:0", "127.0.0.1", 0),
        ("[::1]:80", "::1", 80),
        ("localhost:1", "localhost", 1),
    ],
)
def test_loopback_needs_none(
    text: str, host: str, port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(TOKEN, raising=False)
    assert parse_address(text) == Address(host, port)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "here",
        ":8484",
        "127.0.0.1",
        "::1:80",
        "127.0.0.1:99999",
        "a b:1",
        "http://127.0.0.1:1",
        "127.0.0.1:1/",
    ],
)
def test_what_is_no_address_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="--http"):
        parse_address(text)


def test_a_failing_answer_ends_nothing_and_shows_no_word() -> None:
    with served(Resting()) as one:
        failed = one.ask("/api/v1/streams")
        assert failed.status == 500
        assert json.loads(failed.body) == {"error": {"message": "it failed with RuntimeError"}}
        assert one.ask("/livez").status == 200


def test_only_questions_are_answered() -> None:
    with served() as one:
        for method in ("POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE"):
            assert one.ask("/metrics", method).status == 405
        for path in (
            "/../../etc/passwd",
            "/api/v1/replays/..%2f..%2fetc",
            "/static/x",
            "/static/../routes.py",
            "/static/%2e%2e/routes.py",
            "/static/vendor/vendor.lock",
            "/docs",
        ):
            assert one.ask(path).status == 404


def test_a_command_that_starts_or_stops_is_not_ready() -> None:
    with served() as one:
        assert why(one) == "it is starting"
        one.board.show(Facts())
        assert one.ask("/readyz").status == 200
        one.board.drain._asked.set()  # noqa: SLF001 - as a signal does
        assert why(one) == "it was asked to stop"


def why(one: Served) -> object:
    ready = one.ask("/readyz")
    assert ready.status == 503
    return json.loads(ready.body)["not_ready"][0]["problem"]


def test_a_taken_port_is_an_error_only_where_it_was_asked_for() -> None:
    with served() as one:
        address, board = Address("127.0.0.1", one.port), Board("up", Drain())
        with pytest.raises(Terminal, match="cannot be listened on"), serving(address, board):
            pass
        with serving(address, board, is_asked_for=False):
            assert one.ask("/livez").status == 200


def test_connections_are_bounded_and_a_silent_one_is_closed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(connections, "REQUEST_WITHIN_S", 0.2)
    with served() as one:
        held = [
            socket.create_connection(("127.0.0.1", one.port)) for _ in range(MOST_CONNECTIONS + 8)
        ]
        try:
            for silent in held:
                silent.settimeout(LIMIT_S)
                silent.sendall(b"GET /livez HTTP/1.1\r\n")
            assert [closed(silent) for silent in held] == [True] * len(held)
        except OSError:
            pytest.fail("it was not closed")
        finally:
            for silent in held:
                silent.close()
        assert wait_until(lambda: one.ask("/livez").status == 200, LIMIT_S)


def closed(connection: socket.socket) -> bool:
    try:
        return connection.recv(1) == b""
    except ConnectionError:
        return True


def test_it_ends_with_its_command() -> None:
    with served() as one:
        assert one.ask("/livez").status == 200
        (thread,) = (found for found in threading.enumerate() if found.name == "http")
    assert not thread.is_alive()
    with pytest.raises(ConnectionError):
        one.ask("/livez")
