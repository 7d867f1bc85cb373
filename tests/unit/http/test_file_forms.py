"""The pages of a new stream and of a new region, as a browser asks for them, with and without scripts."""

from __future__ import annotations

import html
import json
import re
from contextlib import contextmanager
from typing import TYPE_CHECKING
from urllib.parse import urlencode

import pytest

from fleet.acts import FleetActs
from fleet.new_streams import NewStreams
from headrace.config.load import load_workspace
from headrace.http.address import Address
from headrace.http.board import Board, Facts
from headrace.http.server import serving
from headrace.secret import Secret
from headrace.signals import Drain
from tests.unit.config.workspaces import SOUND, STREAM, Files
from tests.unit.fleet.test_new_streams import Given
from tests.unit.http.pages_facts import SCRIPT, SECRET, Answer, Served
from tests.unit.http.pages_facts import Workspace as Shown
from tests.unit.http.test_pages import Reader

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

NEW = "/streams/new?cluster=fronting&topic=clicks"
EVENT = {"id": "e1", "kind": SCRIPT}
BROWSER = {"Accept": "text/html"}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    made = Files(tmp_path)
    for name, text in SOUND.items():
        made.write(name, text)
    return tmp_path


@contextmanager
def room(
    root: Path, *, read_only: bool = False, token: str | None = None, facts: Facts | None = None
) -> Iterator[Served]:
    workspace = load_workspace(root)
    acts = FleetActs(
        workspace, NewStreams(root, Given(json.dumps(EVENT).encode(), SCRIPT.encode()))
    )
    board = Board("headrace up", Drain(), read_only=read_only)
    board.show(facts or Facts(), acts)
    address = Address("127.0.0.1", 0, None if token is None else Secret(token))
    with serving(address, board) as taken:
        assert taken is not None
        yield Served(board, taken.port)


def fields_of(answer: Answer) -> dict[str, str]:
    """Return what the page's form would send."""
    form = answer.body[answer.body.index('<form class="sheet"') :]
    found = {
        name: html.unescape(value)
        for name, value in re.findall(r'<input[^>]*? name="(\w+)" value="([^"]*)"', form)
    }
    for name, text in re.findall(
        r'<textarea[^>]*? name="(\w+)"[^>]*>\n(.*?)</textarea>', form, re.DOTALL
    ):
        found[name] = html.unescape(text)
    for name, options in re.findall(
        r'<select[^>]*? name="(\w+)"[^>]*>(.*?)</select>', form, re.DOTALL
    ):
        chosen = re.search(r"<option selected>([^<]*)", options)
        found[name] = html.unescape(chosen[1]) if chosen else ""
    return found


def said_beside(name: str, answer: Answer) -> str:
    """Return the mistakes beside a field."""
    [found] = re.findall(rf'<div class="mistake" id="e-{name}">(.*?)</div>', answer.body)
    return html.unescape(found)


def post(one: Served, path: str, fields: dict[str, str], **headers: str) -> Answer:
    return one.ask(path, "POST", urlencode(fields), **BROWSER, **headers)


def test_a_stream_is_made_from_the_form_without_a_script(root: Path) -> None:
    with room(root) as one:
        asked = one.ask("/streams/new").body
        assert '<select id="from-cluster" name="cluster">' in asked
        assert '<input id="from-topic" name="topic"' in asked
        page = one.ask(NEW)
        found = Reader(page.body)
        assert (page.status, found.unbalanced) == (200, [])
        assert "✓ It can be saved" in found.text
        # In the samples, in the preview, and in the schema's note nothing of it is HTML.
        assert SCRIPT in found.text
        assert SCRIPT not in page.body
        fields = fields_of(page)
        assert json.loads(fields["seen"]) == {
            "streams/clicks.yaml": "new",
            "schemas/clicks.avsc": "new",
        }
        checked = post(one, "/streams/new", {**fields, "filter": "kin = 'a'", "do": "check"})
        assert (checked.status, Reader(checked.body).unbalanced) == (200, [])
        assert 'did you mean "kind"?' in Reader(checked.body).text
        assert fields_of(checked)["filter"] == "kin = 'a'"
        refused = post(one, "/streams/new", {**fields, "filter": "kin = 'a'", "do": "save"})
        assert (refused.status, fields_of(refused)["filter"]) == (400, "kin = 'a'")
        assert not (root / "streams/clicks.yaml").exists()
        # A form's lines end with both.
        fields["schema"] = fields["schema"].replace("\n", "\r\n")
        saved = post(one, "/streams/new", {**fields, "do": "save"})
        assert (saved.status, saved.headers["location"]) == (303, "/streams/clicks")
        assert b"\r" not in (root / "schemas/clicks.avsc").read_bytes()
        page = one.ask("/streams/clicks")
        assert page.status == 200
        assert "clicks starting Declared in streams/clicks.yaml" in Reader(page.body).text
        (root / "streams/clicks.yaml").unlink()
        assert one.ask("/streams/clicks").status == 404


def test_every_id_is_one_elements_and_every_input_has_a_label(root: Path) -> None:
    with room(root) as one:
        for path in ("/streams/new", NEW, "/streams/playback/region?region=eu"):
            body = one.ask(path).body
            ids = re.findall(r'\sid="([^"]*)"', body)
            assert len(ids) == len(set(ids))
            labels = set(re.findall(r'<label for="([^"]*)"', body))
            typed = re.findall(r'<(?:input|select|textarea) id="([^"]*)"', body)
            assert typed
            assert labels >= {*typed}


def test_a_file_that_changed_meanwhile_is_shown_and_not_overwritten(root: Path) -> None:
    with room(root) as one:
        fields = fields_of(one.ask(NEW))
        (root / "schemas/clicks.avsc").write_text(
            '{"type": "record", "name": "mine", "fields": []}'
        )
        changed = post(one, "/streams/new", {**fields, "do": "save"})
        text = Reader(changed.body).text
        assert changed.status == 409
        assert "schemas/clicks.avsc changed meanwhile. Nothing was saved." in text
        assert "mine" in text
        assert not (root / "streams/clicks.yaml").exists()
        for damaged in ("", "[]", "{", "1" * 10_000, "[" * 10_000):
            again = {**fields_of(changed), "seen": damaged}
            assert post(one, "/streams/new", {**again, "do": "save"}).status == 409
        assert post(one, "/streams/new", {**fields_of(changed), "do": "save"}).status == 303


def test_a_region_is_added_to_the_file_of_a_stream(root: Path) -> None:
    path = "/streams/playback/region"
    with room(root, facts=Shown()) as one:
        page = one.ask(path)
        assert (page.status, Reader(page.body).unbalanced) == (200, [])
        fields = {**fields_of(page), "region": "eu", "cluster": "consumer", "do": "check"}
        checked = post(one, path, fields)
        assert "✓ It can be saved" in Reader(checked.body).text
        assert "+ eu:" in Reader(checked.body).text
        assert (root / "streams/playback.yaml").read_text() == STREAM
        wrong = post(one, path, {**fields, "trigger": "soon"})
        assert "expected a duration such as 30s" in said_beside("trigger", wrong)
        wrong = post(one, path, {**fields, "topic": "no topic"})
        assert "expected a Kafka topic" in said_beside("topic", wrong)
        assert "▲ It cannot be saved yet" in Reader(wrong.body).text
        assert post(one, path, {**fields_of(wrong), "do": "save"}).status == 400
        for name in ("../x", "a b", "{a: b}", "x" * 200, SCRIPT):
            refused = post(one, path, {**fields, "region": name})
            assert "a name of letters, digits, dots, _ and -" in Reader(refused.body).text
            assert SCRIPT not in refused.body
        fields = {**fields_of(checked), "do": "save"}
        saved = post(one, path, fields)
        assert (saved.status, saved.headers["location"]) == (303, "/streams/playback")
        written = (root / "streams/playback.yaml").read_text()
        assert "    source: {cluster: consumer}\n" in written
        assert "# by deployment: source, spark conf, trigger" in written
        assert "already" in Reader(post(one, path, fields).body).text
        assert (root / "streams/playback.yaml").read_text() == written
        assert one.ask("/streams/none/region").status == 404
        assert "/streams/plays/region" in one.ask("/streams/plays").body


def test_a_read_only_room_has_no_form_and_a_token_is_asked_for(root: Path) -> None:
    paths = ("/streams/new", "/streams/playback/region")
    with room(root, read_only=True, facts=Shown()) as one:
        for path in paths:
            assert one.ask(path, **BROWSER).status == 403
            assert post(one, path, {"do": "save"}).status == 403
        assert "/streams/new" not in one.ask("/").body
        assert "/region" not in one.ask("/streams/plays").body
    with room(root, token=SECRET) as one:
        for path in paths:
            assert one.ask(path).status == 401
            asked = one.ask(path, **BROWSER)
            assert (asked.status, asked.headers["location"]) == (303, f"/login?next={path}")
            assert one.ask(path, Authorization=f"Bearer {SECRET}").status == 200
            assert post(one, path, {"do": "save"}, Origin="http://evil.example").status == 403
    with room(root) as one:
        assert "Or make one here, from a topic" in one.ask("/").body


@pytest.mark.parametrize("body", ["%ff%fe=1", "a=1&" * 100, "=", "\0"])
def test_what_is_no_form_writes_nothing(root: Path, body: str) -> None:
    before = {*root.rglob("*")}
    with room(root) as one:
        for path in ("/streams/new", "/streams/playback/region"):
            answer = one.ask(path, "POST", f"{body}&do=save")
            assert answer.status in {200, 400}
            assert one.ask(path, "POST", "x" * (2**21 + 1)).status == 413
    assert {*root.rglob("*")} == before


def test_a_command_without_a_workspace_offers_no_form() -> None:
    board = Board("router start", Drain())
    board.show(Facts())
    with serving(Address("127.0.0.1", 0), board) as taken:
        assert taken is not None
        one = Served(board, taken.port)
        assert one.ask("/streams/new").status == 404
        assert "/streams/new" not in one.ask("/").body


def test_a_command_for_one_file_of_a_workspace_writes_no_others(root: Path) -> None:
    with room(root) as one:
        one.board.acts.has_files = False
        assert one.ask("/streams/new").status == 404
        assert post(one, "/streams/new", {"do": "save"}).status == 404
        assert one.ask("/streams/playback/region").status == 404
        assert one.ask("/api/v1/files", "POST", "{}").status == 404
        assert "/streams/new" not in one.ask("/").body


def test_a_page_of_a_command_that_runs_nothing_says_so(root: Path) -> None:
    class Watching(Shown):
        runs = False

    with room(root, facts=Watching()) as one:
        fields = fields_of(one.ask(NEW))
        assert "This command runs nothing" in one.ask(NEW).body
        assert post(one, "/streams/new", {**fields, "do": "save"}).status == 303
        assert "headrace up does" in Reader(one.ask("/streams/clicks").body).text
