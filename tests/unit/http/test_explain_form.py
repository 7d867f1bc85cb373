"""Records that are pasted: what becomes of them, said and not done."""

from __future__ import annotations

import json
from urllib.parse import urlencode

import pytest

from tests.unit.http.pages_facts import SCRIPT, Workspace, served
from tests.unit.http.test_pages import Reader

API = "/api/v1/streams/plays/explain"


def test_the_page_shows_what_becomes_of_each_record() -> None:
    with served(Workspace()) as one:
        assert "<textarea" in one.ask("/streams/plays").body
        answer = one.ask(
            "/streams/plays", "POST", urlencode({"records": f"{SCRIPT}\r\n</textarea>"})
        )
    found = Reader(answer.body)
    assert (answer.status, found.unbalanced) == (200, [])
    assert "✓ written key" in found.text
    assert (
        "▲ rejected id is missing (rule: required of id) It goes to the quarantine." in found.text
    )
    # In the form again, as the record's value, and as its key.
    assert found.text.count(SCRIPT) == 3
    assert SCRIPT not in answer.body


def test_the_api_answers_with_the_same() -> None:
    with served(Workspace()) as one:
        found = json.loads(one.ask(API, "POST", '{"id": 1}').body)
        assert found["records"][0]["outputs"]["starts"]["value"] == {"text": '{"id": 1}'}
        refused = one.ask(API, "POST", "refused")
        assert (refused.status, "not an Avro record" in refused.body) == (400, True)
        assert one.ask(API.replace("plays", "none"), "POST", "{}").status == 404
        assert one.ask(API, "POST", "x" * 70_000).status == 413
        assert one.ask(API).status == 405


@pytest.mark.parametrize(
    "headers",
    [
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
    ],
)
def test_a_page_of_another_origin_may_not_send_anything(headers: dict[str, str]) -> None:
    with served(Workspace()) as one:
        assert one.ask(API, "POST", "{}", **headers).status == 403
        own = {"Origin": f"http://127.0.0.1:{one.port}"}
        assert one.ask(API, "POST", "{}", **own).status == 200
        assert one.ask(API, "POST", "{}", Sec_Fetch_Site="same-origin").status == 200
