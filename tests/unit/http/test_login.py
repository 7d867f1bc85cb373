"""The token in a browser: asked for once, kept in a cookie, never in a link."""

from __future__ import annotations

from urllib.parse import urlencode

import pytest

from headrace.http.pages.login import own_path
from tests.unit.http.pages_facts import SECRET, Workspace, served

HTML = {"Accept": "text/html"}


def form(token: str, following: str = "/replays") -> str:
    return urlencode({"token": token, "next": following})


def test_a_browser_is_asked_once() -> None:
    with served(Workspace(), is_open=True) as one:
        sent = one.ask("/streams/plays", **HTML)
        assert (sent.status, sent.headers["location"]) == (303, "/login?next=/streams/plays")
        assert one.ask(sent.headers["location"]).status == 200
        wrong = one.ask("/login", "POST", form("x" * 20))
        assert (wrong.status, "set-cookie" in wrong.headers) == (403, False)
        right = one.ask("/login", "POST", form(SECRET))
        assert (right.status, right.headers["location"]) == (303, "/replays")
        cookie, *said = right.headers["set-cookie"].split("; ")
        assert {"HttpOnly", "SameSite=strict"} <= {*said}
        assert SECRET not in cookie
        assert one.ask("/streams/plays", Cookie=cookie).status == 200
        assert one.ask("/api/v1/streams", Cookie=cookie).status == 200
        assert one.ask("/streams/plays", Cookie=f"{cookie}x", **HTML).status == 303
        assert one.ask("/api/v1/streams", Cookie=f"{cookie}x").status == 401


def test_without_the_token_a_browser_gets_the_style_and_no_page() -> None:
    with served(Workspace(), is_open=True) as one:
        assert one.ask("/static/control-room.css").status == 200
        for path in ("/", "/quarantine/plays", "/index.json", "/api/v1/events"):
            assert one.ask(path).status == 401


def test_a_form_is_bounded() -> None:
    with served(Workspace(), is_open=True) as one:
        assert one.ask("/login", "POST", "x" * 10_000).status == 413


def test_on_loopback_one_logs_in_for_changes() -> None:
    with served(Workspace()) as one:
        assert one.ask("/").status == 200
        assert one.ask("/login").status == 200


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("/apps/rmi", "/apps/rmi"),
        ("//evil.example", "/"),
        ("/\\evil.example", "/"),
        ("https://evil.example", "/"),
        ("/x\r\nSet-Cookie: a=b", "/"),
        ("", "/"),
    ],
)
def test_a_login_leads_to_this_server_alone(text: str, path: str) -> None:
    assert own_path(text) == path
