"""What changes something: refused where it is read-only, and without the token where there is one."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING

import pytest
from starlette.requests import Request
from starlette.responses import Response

from headrace.http.address import Address
from headrace.http.board import Board
from headrace.http.changing import changing
from headrace.http.safety import COOKIE, cookie_value
from headrace.secret import Secret
from headrace.signals import Drain
from tests.unit.http.pages_facts import SECRET

if TYPE_CHECKING:
    from collections.abc import Mapping

DONE = 202


def asked(
    headers: Mapping[str, str], *, read_only: bool = False, token: str | None = None
) -> Response:
    """Return what a route that changes something answers on loopback."""

    async def handler(_request: Request) -> Response:
        return Response(status_code=DONE)

    def refuse(status: int, message: str) -> Response:
        return Response(json.dumps(message), status)

    board = Board("headrace up", Drain(), read_only=read_only)
    address = Address("127.0.0.1", 8484, None if token is None else Secret(token))
    sent = [(name.lower().encode(), value.encode()) for name, value in headers.items()]
    scope = {
        "type": "http",
        "method": "GET",
        "path": "/replays/new",
        "query_string": b"",
        "headers": [*sent, (b"host", b"localhost")],
        "server": ("127.0.0.1", 8484),
        "scheme": "http",
    }
    return asyncio.run(changing(board, address, refuse, handler)(Request(scope)))  # type: ignore[arg-type]  # a handler returns a coroutine


def test_without_a_token_loopback_may_change_something() -> None:
    assert asked({}).status_code == DONE


@pytest.mark.parametrize("accept", ["application/json", "text/html"])
def test_a_read_only_control_room_changes_nothing(accept: str) -> None:
    refused = asked({"Accept": accept}, read_only=True)
    assert refused.status_code == 403
    assert b"read-only" in bytes(refused.body)


def test_a_token_is_asked_for_on_loopback_too() -> None:
    assert asked({}, token=SECRET).status_code == 401
    assert asked({"Authorization": f"Bearer {SECRET}x"}, token=SECRET).status_code == 401
    assert asked({"Authorization": f"Bearer {SECRET}"}, token=SECRET).status_code == DONE
    cookie = f"{COOKIE}={cookie_value(Secret(SECRET))}"
    assert asked({"Cookie": cookie}, token=SECRET).status_code == DONE
    browser = asked({"Accept": "text/html"}, token=SECRET)
    assert (browser.status_code, browser.headers["location"]) == (303, "/login?next=/replays/new")
