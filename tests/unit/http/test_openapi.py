"""The OpenAPI document has all routes of the API, and an independent client finds that it is true."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import jsonschema_rs
import pytest
from starlette.routing import Route

from headrace.http.address import Address
from headrace.http.api_list import API
from headrace.http.board import Board
from headrace.http.openapi import openapi
from headrace.http.routes import routes_of
from headrace.signals import Drain
from tests.api_client import try_api

from .pages_facts import SECRET, Workspace, served

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from .pages_facts import Served

OF_PROGRAMS = ("/api/", "/livez", "/readyz", "/metrics")


@pytest.fixture(scope="module")
def room() -> Iterator[Served]:
    with served(Workspace()) as found:
        yield found


def test_the_list_has_each_route_of_the_api_and_no_other() -> None:
    routes = routes_of(Board("headrace ui", Drain()), Address("127.0.0.1", 0)).routes
    there = {
        (method, one.path)
        for one in routes
        if isinstance(one, Route) and one.path.startswith(OF_PROGRAMS)
        for method in (one.methods or set()) - {"HEAD"}
    }
    assert {(one.method, one.path) for one in API} == there


def test_the_document_is_served(room: Served) -> None:
    answer = room.ask("/api/v1/openapi.json")
    assert answer.status == 200
    assert json.loads(answer.body) == json.loads(json.dumps(openapi()))


@pytest.mark.parametrize(
    ("path", "route"),
    [
        ("/livez", "/livez"),
        ("/readyz", "/readyz"),
        ("/api/v1/streams", "/api/v1/streams"),
        ("/api/v1/tables", "/api/v1/tables"),
        ("/api/v1/apps", "/api/v1/apps"),
        ("/api/v1/replays", "/api/v1/replays"),
        ("/api/v1/streams/plays/ledger", "/api/v1/streams/{name}/ledger"),
        ("/api/v1/streams/plays/quarantine", "/api/v1/streams/{name}/quarantine"),
    ],
)
def test_a_whole_answer_conforms(room: Served, path: str, route: str) -> None:
    answer = room.ask(path)
    assert answer.status == 200
    found = json.loads(answer.body)
    assert found
    assert misfits(found, route) == []
    # The check itself: what lacks a field does not conform.
    whole = found[0] if isinstance(found, list) else found
    del whole[next(iter(whole))]
    assert misfits(found, route) != []


def test_a_method_that_a_path_does_not_have_is_answered_with_those_that_it_has(
    room: Served,
) -> None:
    # It has a route for each of its methods.
    answer = room.ask("/api/v1/streams/plays/quarantine/replay", "DELETE")
    assert (answer.status, answer.headers["allow"]) == (405, "GET, HEAD, POST")


def misfits(value: object, route: str) -> list[str]:
    """Return in what an answer differs from the document."""
    document: dict[str, Any] = openapi()
    answers = document["paths"][route]["get"]["responses"]
    schema = {**answers["200"]["content"]["application/json"]["schema"], **document}
    return [str(one) for one in jsonschema_rs.Draft202012Validator(schema).iter_errors(value)]


def test_an_independent_client_finds_nothing_that_does_not_conform(
    room: Served, tmp_path: Path
) -> None:
    short = ["--max-examples", "5", "--phases", "coverage,fuzzing"]
    short += ["-H", f"Authorization: Bearer {SECRET}"]
    done = try_api(tmp_path, f"http://127.0.0.1:{room.port}", name="plays", more=short)
    assert done.returncode == 0, done.stdout + done.stderr
