"""The pages as a reader without JavaScript gets them: over real sockets, from facts of a test."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from headrace.http.board import Facts
from headrace.http.detail_rows import LedgerRow
from headrace.http.rows import NotReady, ReplayRow
from tests.unit.http.pages_facts import (
    SCRIPT,
    SECRET,
    Many,
    Workspace,
    partition,
    replay_row,
    served,
)
from tests.unit.http.replay_acts import ReplayActs, room

if TYPE_CHECKING:
    from collections.abc import Sequence

PAGES = (
    "/",
    "/streams/plays",
    "/tables/starts",
    "/apps/rmi",
    "/replays",
    "/replays/replay-1",
    "/quarantine/plays",
)
MOST_BYTES = 300_000
TOKEN = {"Authorization": f"Bearer {SECRET}"}
VOID = frozenset({"meta", "link", "input", "br", "path", "rect", "line"})
# Their end may be left out.
OPEN_ENDED = frozenset({"td", "th", "tr", "li", "p"})


class Reader(HTMLParser):
    """The texts and the attributes of a page, and which elements were left open."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.texts: list[str] = []
        self.attributes: list[tuple[str, str, str]] = []
        self.ids: list[str] = []
        self._open: list[str] = []
        self.unbalanced: list[str] = []
        self.feed(html)
        self.unbalanced += self._open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.attributes += [(tag, name, value or "") for name, value in attrs]
        self.ids += [value or "" for name, value in attrs if name == "id"]
        if tag not in VOID | OPEN_ENDED:
            self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag in VOID | OPEN_ENDED:
            return
        if not self._open or self._open.pop() != tag:
            self.unbalanced.append(f"/{tag}")

    def handle_data(self, data: str) -> None:
        self.texts.append(data)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.texts).split())


def read(facts: Facts, path: str) -> Reader:
    with served(facts) as one:
        answer = one.ask(path)
    assert answer.status == 200, answer.body
    return Reader(answer.body)


@pytest.mark.parametrize("path", PAGES)
def test_a_page_is_whole_and_runs_nothing_but_our_files(path: str) -> None:
    with served(Workspace()) as one:
        answer = one.ask(path)
        found = Reader(answer.body)
        policy = answer.headers["content-security-policy"]
        loaded = [
            value
            for tag, name, value in found.attributes
            if (tag, name) in {("script", "src"), ("link", "href")}
        ]
        assert {one.ask(url).status for url in loaded} == {200}
    assert found.unbalanced == []
    assert len(found.ids) == len(set(found.ids))
    assert len(loaded) == 5
    assert {"script-src 'self'", "style-src 'self'", "default-src 'none'"} <= {*policy.split("; ")}
    # The policy would keep them from working.
    inline = [
        (tag, name) for tag, name, _ in found.attributes if name == "style" or name.startswith("on")
    ]
    assert inline == []
    assert "<style" not in answer.body
    assert answer.body.count("<script") == answer.body.count('<script src="/static/') == 3


@pytest.mark.parametrize("path", PAGES)
def test_a_page_has_a_twin_for_programs(path: str) -> None:
    with served(Workspace()) as one:
        twin = one.ask("/index.json" if path == "/" else f"{path}.json")
        assert f'href="{"/index" if path == "/" else path}.json"' in one.ask(path).body
    assert (twin.status, twin.headers["content-type"]) == (200, "application/json")
    assert json.loads(twin.body)


def test_links_lead_to_pages() -> None:
    with room(ReplayActs(), Workspace()) as one:
        there = {
            value
            for path in PAGES
            for tag, name, value in Reader(one.ask(path).body).attributes
            if tag == "a" and name == "href" and value.startswith("/")
        }
        assert {*PAGES} <= there
        assert {path: one.ask(path, **TOKEN).status for path in there} == dict.fromkeys(there, 200)


def test_what_is_wrong_is_first_with_what_to_do() -> None:
    away = [
        NotReady("app", "rmi", None, "it is stopped"),
        NotReady("stream", "plays", "starts", "no Kafka broker answers", "start it"),
    ]
    text = read(Workspace(away=away, stream_state="failed"), "/").text
    order = [
        "1 thing is wrong",
        "stream plays (starts) no Kafka broker answers",
        "start it",
        "app rmi it is stopped",
        "backfill replay -c apps/rmi.yaml",
        "1 topic",
        "Streams",
    ]
    assert [one for one in order if one not in text] == []
    assert [text.index(one) for one in order] == sorted(text.index(one) for one in order)


def test_where_nothing_is_wrong_it_says_so() -> None:
    assert "Everything is at work" in read(Workspace(), "/").text


def test_offsets_that_were_lost_are_wrong_and_named() -> None:
    facts = Workspace(lost=7, ledgers=[LedgerRow("starts", [partition(0, lost=7)])])
    assert "7 offsets were gone from the topic before they were read" in read(facts, "/").text
    assert "7 lost: partition 0 @ 0 to 6" in read(facts, "/streams/plays").text


def test_an_empty_workspace_says_what_to_do_first() -> None:
    text = read(Facts(), "/").text
    assert "Nothing is declared yet" in text
    assert "headrace init plays" in text


def test_a_command_about_one_thing_shows_that() -> None:
    class Replay(Facts):
        def replays(self) -> list[ReplayRow]:
            return [replay_row()]

    found = read(Replay(), "/")
    assert "Everything is at work" in found.text
    assert "replay-1" in found.text
    assert "topic" not in found.text


CSS = Path(__file__).parents[3] / "headrace/http/pages/static/control-room.css"
TEXT_COLOURS = ("ink", "soft", "faint", "link", "ok", "bad", "wait", "blue", "quarantined")
GROUNDS = ("ground", "card", "bad-ground", "wait-ground")
# Of WCAG 2.2, level AA, for text of any size.
LEAST_CONTRAST = 4.5


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_colour_of_a_text_is_readable_on_every_ground(scheme: str) -> None:
    root, _, further = CSS.read_text().partition("@media (prefers-color-scheme: dark)")
    text = root if scheme == "light" else further.partition("\n}\n")[0]
    colours = {name: luminance(value) for name, value in re.findall(r"--([\w-]+): #(\w+);", text)}
    pairs = [(one, ground) for one in TEXT_COLOURS for ground in GROUNDS]
    low = [pair for pair in pairs if contrast(*(colours[one] for one in pair)) < LEAST_CONTRAST]
    assert low == []


def luminance(hexadecimal: str) -> float:
    whole = hexadecimal if len(hexadecimal) == 6 else "".join(2 * one for one in hexadecimal)
    parts = [int(whole[at : at + 2], 16) / 255 for at in (0, 2, 4)]
    linear = [one / 12.92 if one <= 0.04045 else ((one + 0.055) / 1.055) ** 2.4 for one in parts]
    return sum(weight * one for weight, one in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def contrast(one: float, other: float) -> float:
    return (max(one, other) + 0.05) / (min(one, other) + 0.05)


def test_a_command_that_starts_has_pages() -> None:
    with served() as one:
        assert "it is starting" in Reader(one.ask("/").body).text
        starting = one.ask("/streams/plays")
        assert (starting.status, "headrace up is starting" in starting.body) == (503, True)


def test_the_ledger_adds_up_or_says_what_is_missing() -> None:
    good = read(Workspace(), "/streams/plays").text
    assert "96 read = 62 written + 24 filtered + 0 dropped + 10 quarantined ✓ adds up" in good
    ledgers = [LedgerRow("starts", [partition(0, written=30), partition(1)])]
    bad = read(Workspace(ledgers=ledgers), "/streams/plays").text
    assert "✗ 1 not accounted for" in bad
    assert "✓ adds up" not in bad


def test_settings_say_where_they_come_from_and_no_secret() -> None:
    text = read(Workspace(), "/streams/plays").text
    assert "source.topic plays_raw streams/plays.yaml:3" in text
    assert "sasl.password *** streams/plays.yaml:4" in text


def test_a_record_that_is_a_script_stays_text() -> None:
    found = read(Workspace(), "/quarantine/plays")
    # As value, key, header and reason.
    assert found.text.count(SCRIPT) == 4
    with served(Workspace()) as one:
        assert SCRIPT not in one.ask("/quarantine/plays").body


def test_a_value_that_is_hidden_says_why() -> None:
    facts = Workspace(value=None)
    assert "a tombstone" in read(facts, "/quarantine/plays").text


def test_a_quarantine_whose_kafka_is_away_says_so() -> None:
    with served(Workspace(is_kafka_away=True)) as one:
        page, api = one.ask("/quarantine/plays"), one.ask("/api/v1/streams/plays/quarantine")
    assert (page.status, api.status) == (200, 503)
    assert "no Kafka broker of cluster fronting answers" in Reader(page.body).text
    assert "no Kafka broker of cluster fronting answers" in api.body


def test_the_api_of_one_stream() -> None:
    with served(Workspace()) as one:
        ledger = json.loads(one.ask("/api/v1/streams/plays/ledger").body)
        bad = json.loads(one.ask("/api/v1/streams/plays/quarantine").body)
        assert one.ask("/api/v1/streams/none/ledger").status == 404
    (output,) = ledger["outputs"]
    assert [one["read"] for one in output["partitions"]] == [48, 48]
    assert [(one["count"], len(one["samples"])) for one in bad["groups"]] == [(10, 1)]


def test_the_band_names_who_holds_a_table_back() -> None:
    found = read(Workspace(), "/replays/replay-1")
    assert "Alignment band" in found.text
    assert "▲ lake.tv.plays: 00000-7.parquet" in found.text
    classes = [value for tag, name, value in found.attributes if (tag, name) == ("path", "class")]
    assert sorted(classes) == ["next", "next held"]


@pytest.mark.parametrize("path", ["/streams/none", "/apps/%2e%2e%2fx", "/replays/..%2f..%2fetc"])
def test_a_page_that_is_not_there(path: str) -> None:
    with served(Workspace()) as one:
        answer = one.ask(path)
        assert answer.status == 404
        assert one.ask(f"{path}.json").status == 404


def test_500_streams_are_one_page_of_bounded_size() -> None:
    with served(Many(500)) as one:
        html = one.ask("/").body
        some = one.ask("/?q=team_007").body
        none = one.ask("/?q=%3Cscript%3E").body
    assert len(html.encode()) <= MOST_BYTES
    assert rows_of(html) == 500
    assert rows_of(some) == 1
    assert "No stream matches" in none
    assert "<script>" not in none


def rows_of(html: str) -> int:
    return len(re.findall(r'<tr id="o-', html))


def test_times_are_marked_as_times() -> None:
    found = read(Workspace(), "/tables/starts")
    times: Sequence[str] = [
        value for tag, name, value in found.attributes if (tag, name) == ("time", "datetime")
    ]
    assert "2026-03-01T12:00:00Z" in times


def test_an_application_over_tables_is_replayed_and_not_started() -> None:
    away = [NotReady("app", "rmi", None, "it is stopped")]
    with served(Workspace(away=away)) as one:
        body = one.ask("/").body
    assert "backfill replay -c apps/rmi.yaml" in body
    assert "headrace run -c apps/rmi.yaml" not in body
