"""Server-sent events: as programs read them, and as pages do."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import TYPE_CHECKING

from headrace.embedded.process import wait_until
from headrace.http.board import Facts
from headrace.http.pages import events
from headrace.http.pages.parts import Part, changes
from headrace.http.quarantine_rows import QuarantineReplay
from tests.limits import LIMIT_S
from tests.unit.http.pages_facts import Many, Workspace, served

if TYPE_CHECKING:
    import http.client

    import pytest

    from headrace.http.quarantine_rows import QuarantineRow


def following(stream: http.client.HTTPResponse, until: str) -> list[tuple[str, str]]:
    """Return the events up to one of that name."""
    found: list[tuple[str, str]] = []
    name, data = "", []
    while True:
        line = stream.readline().decode().rstrip("\n")
        if line.startswith("event: "):
            name = line[7:]
        elif line.startswith("data: "):
            data.append(line[6:])
        elif not line and name:
            found.append((name, "\n".join(data)))
            if name == until:
                return found
            name, data = "", []


def test_a_program_gets_everything_and_then_what_changes() -> None:
    facts = Workspace()
    with served(facts) as one, one.events() as stream:
        assert stream.headers["content-type"].startswith("text/event-stream")
        first = following(stream, "beat")
        assert [name for name, _ in first] == ["stream", "table", "app", "replay", "beat"]
        assert json.loads(first[0][1])["outputs"][0]["read"] == 96
        facts.read = 97
        changed = [row for row in following(stream, "stream") if row[0] != "beat"]
        assert [name for name, _ in changed] == ["stream"]
        assert json.loads(changed[0][1])["outputs"][0]["read"] == 97
        one.board.show(Facts())
        gone = [json.loads(data) for name, data in following(stream, "gone") if name == "gone"]
        assert gone == [{"kind": "stream", "name": "plays"}]


def test_a_page_gets_the_parts_that_have_changed_since_it_was_sent() -> None:
    facts = Many(20)
    with served(facts) as one:
        html = one.ask("/").body
        (place,) = re.findall(r'sse-connect="/api/v1/events([^"]+)"', html)
        with one.events(place.replace("&amp;", "&")) as stream:
            assert [name for name, _ in following(stream, "beat")] == ["beat"]
            facts.reads[7] += 1
            rows = ""
            while "<tr" not in rows:
                rows = following(stream, "parts")[-1][1]
    changed = set(re.findall(r'<tr hx-swap-oob="true" id="([^"]+)"', rows))
    assert changed == {"o-events_5f007-clean"}
    assert "1,000,008" in rows
    # Each of them takes the place of an element that the page has.
    assert all(f'id="{one}"' in html for one in changed)


def test_a_page_of_a_server_that_is_gone_gets_all_of_it() -> None:
    with served(Workspace()) as one, one.events("?page=/&seen=of-an-earlier-one") as stream:
        *parts, _ = following(stream, "beat")
    ids = [re.findall(r' hx-swap-oob="true" id="([^"]+)"', data) for _, data in parts]
    named = ["note", "troubles", "way", "streams", "tables", "apps", "replays"]
    assert ids == [[one] for one in named]


def test_rows_are_never_sent_beside_other_elements() -> None:
    """A browser drops a row that comes after a section: both would have to be in one table."""

    def page(many: int) -> list[Part]:
        rows = {key: f'<tr id="{key}">{many}</tr>' for key in ("a", "b")}
        return [Part("way", f'<p id="way">{many}</p>'), Part("t", '<table id="t">', rows)]

    sent = list(changes({one.id: one for one in page(1)}, page(2)))
    assert sent == [
        '<p hx-swap-oob="true" id="way">2</p>',
        '<tr hx-swap-oob="true" id="a">2</tr><tr hx-swap-oob="true" id="b">2</tr>',
    ]


def test_a_page_of_what_is_gone_says_so_and_stays() -> None:
    with served(Workspace()) as one:
        html = one.ask("/streams/plays").body
        (place,) = re.findall(r'sse-connect="/api/v1/events([^"]+)"', html)
        with one.events(place.replace("&amp;", "&")) as stream:
            following(stream, "beat")
            one.board.show(Facts())
            said = following(stream, "parts")[-1][1]
            while "not there any more" not in said:
                said = following(stream, "parts")[-1][1]
            one.board.show(Workspace())
            assert (
                '<div hx-swap-oob="true" id="note" role="status" hidden>'
                in (following(stream, "parts")[-1][1])
            )


def test_a_row_more_or_less_sends_the_whole_table() -> None:
    def table(*names: str) -> Part:
        return Part(
            "t", '<table id="t">', {name: f'<tr id="{name}">' for name in names}, "</table>"
        )

    seen = {"t": table("a", "b")}
    assert list(changes(seen, [table("a", "b")])) == []
    (whole,) = changes(seen, [table("a", "b", "c")])
    assert whole.startswith('<table hx-swap-oob="true" id="t"><tr id="a">')


def test_streams_are_bounded_and_let_go_of(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(events, "MOST_STREAMS", 1)
    with served(Workspace()) as one:
        with one.events() as first:
            following(first, "beat")
            with one.events() as second:
                assert second.status == 503
        assert one.ask("/api/v1/events", "HEAD").status == 200
        assert wait_until(lambda: is_open(one), LIMIT_S)


def is_open(one: object) -> bool:
    with one.events() as stream:  # type: ignore[attr-defined]  # Served
        return bool(stream.status == 200)


class Counting(Workspace):
    """Counts how often its quarantine is read."""

    reads = 0

    def quarantine(self, stream: str) -> QuarantineRow | None:
        self.reads += 1
        return super().quarantine(stream)


def test_a_quarantine_is_read_again_when_its_replay_has_come_further() -> None:
    facts = Counting()
    with served(facts, token=None) as one:
        html = one.ask("/quarantine/plays").body
        (place,) = re.findall(r'sse-connect="/api/v1/events([^"]+)"', html)
        with one.events(place.replace("&amp;", "&")) as stream:
            for _ in range(2):
                assert [name for name, _ in following(stream, "beat")] == ["beat"]
            assert facts.reads == 1
            row = facts.quarantine("plays")
            assert row is not None
            facts.rejected = replace(row, records=3, replayed=7)
            facts.quarantine_replayed = QuarantineReplay("plays", "running", None, None, 7, 10)
            parts = {
                re.findall(r' id="([^"]+)"', data)[0]: data
                for name, data in following(stream, "parts") + following(stream, "beat")
                if name == "parts"
            }
    assert "3 rejected records left" in parts["quarantine"]
    assert "7 of 10" in parts["replay"]
    # Somebody may be typing there.
    assert "rule" not in parts
