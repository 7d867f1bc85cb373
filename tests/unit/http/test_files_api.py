"""Files that a program checks and saves over HTTP, in a real workspace."""

from __future__ import annotations

import json
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest

from fleet.acts import FleetActs
from headrace.config.load import load_workspace
from headrace.http.address import Address
from headrace.http.board import Board, Facts
from headrace.http.server import serving
from headrace.secret import Secret
from headrace.signals import Drain
from tests.unit.config.workspaces import SOUND, STREAM, Files
from tests.unit.http.pages_facts import SECRET, Answer, Served, served

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

CHECK, SAVE = "/api/v1/files/check", "/api/v1/files"
OTHER = STREAM.replace("name: playback", "name: other").replace("playback_starts", "other_starts")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    made = Files(tmp_path)
    for name, text in SOUND.items():
        made.write(name, text)
    return tmp_path


@contextmanager
def room(root: Path, *, read_only: bool = False, token: str | None = None) -> Iterator[Served]:
    """A control room that may change the workspace."""
    board = Board("headrace up", Drain(), read_only=read_only)
    board.show(Facts(), FleetActs(load_workspace(root)))
    address = Address("127.0.0.1", 0, None if token is None else Secret(token))
    with serving(address, board) as taken:
        assert taken is not None
        yield Served(board, taken.port)


def post(one: Served, path: str, body: object, **headers: str) -> Answer:
    return one.ask(path, "POST", json.dumps(body), **headers)


def test_files_are_checked_saved_and_not_saved_over_what_nobody_has_seen(root: Path) -> None:
    files = {"streams/other.yaml": OTHER}
    with room(root) as one:
        check: dict[str, Any] = json.loads(post(one, CHECK, {"files": files}).body)
        assert (check["ok"], check["problems"]) == (True, [])
        [change] = check["files"]
        assert (change["path"], change["is_new"], change["hash"]) == (
            "streams/other.yaml",
            True,
            "new",
        )
        assert "+name: other\n" in change["diff"]
        assert not (root / "streams/other.yaml").exists()
        # Whoever has not looked saves nothing.
        assert post(one, SAVE, {"files": files}).status == 409
        seen = {"streams/other.yaml": "new"}
        saved = post(one, SAVE, {"files": files, "seen": seen})
        assert (saved.status, json.loads(saved.body)) == (200, {"saved": ["streams/other.yaml"]})
        assert (root / "streams/other.yaml").read_text() == OTHER
        changed = post(one, SAVE, {"files": {"streams/other.yaml": STREAM}, "seen": seen})
        assert changed.status == 400
        files = {"streams/other.yaml": OTHER.replace("'start'", "'stop'")}
        changed = post(one, SAVE, {"files": files, "seen": seen})
        said = json.loads(changed.body)
        assert changed.status == 409
        assert "streams/other.yaml" in said["error"]["message"]
        [change] = said["check"]["files"]
        assert "-    filter: \"event_type = 'start'\"\n" in change["diff"]
        assert (
            post(one, SAVE, {"files": files, "seen": {change["path"]: change["hash"]}}).status
            == 200
        )


def test_files_with_mistakes_are_not_saved_and_each_is_named_with_its_line(root: Path) -> None:
    files = {"streams/other.yaml": OTHER.replace("cluster: consumer", "cluster: consumr")}
    with room(root) as one:
        check = json.loads(post(one, CHECK, {"files": files}).body)
        saved = post(one, SAVE, {"files": files, "seen": {"streams/other.yaml": "new"}})
    [problem] = check["problems"]
    assert (check["ok"], problem["line"], problem["suggestion"]) == (
        False,
        13,
        'did you mean "consumer"?',
    )
    assert saved.status == 400
    assert json.loads(saved.body)["check"]["problems"] == check["problems"]
    assert not (root / "streams/other.yaml").exists()


@pytest.mark.parametrize(
    "body",
    [
        "",
        "[]",
        "{}",
        '{"files": []}',
        '{"files": {"a.yaml": 1}}',
        '{"files": {}}',
        '{"files": {"../a.yaml": ""}}',
        '{"files": {"a.yaml": "\\ud800"}}',
        '{"files": {"streams/other.yaml": "kind: stream"}, "seen": []}',
        "[" * 100_000,
    ],
)
def test_what_is_no_request_for_files_is_refused(root: Path, body: str) -> None:
    before = {one.name for one in root.rglob("*")}
    with room(root) as one:
        for path in (CHECK, SAVE):
            answer = one.ask(path, "POST", body)
            assert (answer.status, "message" in answer.body) == (400, True)
        assert one.ask(CHECK).status == 405
        assert one.ask(SAVE, "POST", "x" * (4 * 2**20 + 1)).status == 413
    assert {one.name for one in root.rglob("*")} == before


def test_a_read_only_room_saves_nothing_and_a_token_is_asked_for(root: Path) -> None:
    body = {"files": {"streams/other.yaml": OTHER}, "seen": {"streams/other.yaml": "new"}}
    with room(root, read_only=True) as one:
        assert {post(one, path, body).status for path in (CHECK, SAVE)} == {403}
    with room(root, token=SECRET) as one:
        assert {post(one, path, body).status for path in (CHECK, SAVE)} == {401}
        assert not (root / "streams/other.yaml").exists()
        assert post(one, SAVE, body, Authorization=f"Bearer {SECRET}").status == 200
    assert (root / "streams/other.yaml").exists()
    with room(root) as one:
        assert post(one, SAVE, body, Origin="http://evil.example").status == 403


def test_a_command_without_a_workspace_of_its_own_offers_nothing() -> None:
    body = {"files": {"streams/a.yaml": OTHER}}
    with served() as one:
        for path in (CHECK, SAVE):
            assert post(one, path, body, Authorization=f"Bearer {SECRET}").status == 404
