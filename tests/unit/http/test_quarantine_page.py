"""The page of a quarantine: records tried with a changed stream, the stream saved, a replay started."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING
from urllib.parse import urlencode

import pytest

from headrace.http.quarantine_rows import (
    QuarantineGroup,
    QuarantineReplay,
    QuarantineRow,
    ReplayedOutput,
)
from tests.unit.http.pages_facts import (
    AVSC,
    FILE,
    SCRIPT,
    SECRET,
    TEXT,
    Workspace,
    WorkspaceActs,
    served,
)
from tests.unit.http.test_pages import Reader

if TYPE_CHECKING:
    from headrace.http.quarantine_rows import QuarantineReplayState
    from tests.unit.http.pages_facts import Answer, Served

PAGE, API = "/quarantine/plays", "/api/v1/streams/plays/quarantine"
BROWSER = {"Accept": "text/html"}
CHANGED = TEXT.replace("a < b", "a <= b")


def send(one: Served, do: str, text: str, seen: str = "1", **more: str) -> Answer:
    fields = {f"text:{FILE}": text.replace("\n", "\r\n"), f"seen:{FILE}": seen, "do": do, **more}
    return one.ask(PAGE, "POST", urlencode(fields), **BROWSER)


def test_the_page_has_the_streams_files_to_change() -> None:
    with served(Workspace(), WorkspaceActs(), token=None) as one:
        answer = one.ask(PAGE)
    found = Reader(answer.body)
    assert found.unbalanced == []
    assert "kind: stream name: plays filter: a < b" in found.text
    names = [value for tag, name, value in found.attributes if (tag, name) == ("textarea", "name")]
    assert names == [f"text:{FILE}", f"text:{AVSC}"]
    labelled = {value for tag, name, value in found.attributes if (tag, name) == ("label", "for")}
    assert labelled <= set(found.ids)
    assert "✓" not in found.text


def test_a_changed_stream_is_tried_and_what_was_typed_stays() -> None:
    acts = WorkspaceActs()
    with served(Workspace(), acts, token=None) as one:
        answer = send(one, "try", CHANGED)
    found = Reader(answer.body)
    assert (answer.status, found.unbalanced) == (200, [])
    assert f"starts 6 1 3 not JSON: {SCRIPT} 3" in found.text
    assert "◐ 7 of 10 would leave the quarantine" in found.text
    assert "filter: a <= b" in found.text
    assert "-was +kind: stream" in found.text
    assert SCRIPT not in answer.body
    assert (acts.saved, acts.replays) == ([], 0)


def test_a_mistake_is_said_where_it_is_and_nothing_is_done() -> None:
    acts = WorkspaceActs()
    with served(Workspace(), acts, token=None) as one:
        for do in ("try", "save"):
            answer = send(one, do, f"{SCRIPT} wrong")
            found = Reader(answer.body)
            assert (answer.status, found.unbalanced) == (400, [])
            assert f"{FILE}:3:7 no such thing: {SCRIPT} write another" in found.text
            assert f"{SCRIPT} wrong" in found.text
            assert SCRIPT not in answer.body
        assert send(one, "save", "x" * 2_000_000).status == 413
        other = {"text:streams/../x.yaml": "a", "do": "save"}
        refused = one.ask(PAGE, "POST", urlencode(other), **BROWSER)
        assert (refused.status, "is not a file of stream plays" in refused.body) == (400, True)
        many = urlencode([(f"text:{number}", "a") for number in range(100)])
        assert one.ask(PAGE, "POST", many).status == 413
    assert acts.saved == []


def test_a_stream_is_saved_over_what_was_seen_and_nothing_else() -> None:
    acts = WorkspaceActs()
    with served(Workspace(), acts, token=None) as one:
        answer = send(one, "save", CHANGED)
        assert (answer.status, answer.headers["location"]) == (303, f"{PAGE}?saved=1#rule")
        assert acts.saved == [{FILE: CHANGED}]
        assert (
            "✓ Saved. The stream runs by the new file"
            in Reader(one.ask(f"{PAGE}?saved=1").body).text
        )
        late = send(one, "save", CHANGED, seen="0")
        found = Reader(late.body)
        assert (late.status, len(acts.saved)) == (409, 1)
        assert "the file has changed meanwhile, and nothing was saved" in found.text
        assert "filter: a <= b" in found.text
        # So that it can be saved over what is there now.
        assert ("input", "value", "1") in found.attributes
        # To try it shows no difference to what somebody else has saved meanwhile as one's own.
        tried = Reader(send(one, "try", CHANGED, seen="0").body)
        assert ("input", "value", "0") in tried.attributes
        same = send(one, "save", TEXT)
        assert (same.status, "as it was" in same.body) == (200, True)
        assert len(acts.saved) == 1


def test_a_replay_is_started_once_at_a_time() -> None:
    acts = WorkspaceActs()
    with served(Workspace(), acts, token=None) as one:
        started = one.ask(f"{PAGE}/replay", "POST", **BROWSER)
        assert (started.status, started.headers["location"]) == (303, f"{PAGE}#replay")
        api = one.ask(f"{API}/replay", "POST")
        assert (api.status, json.loads(api.body)["state"]) == (202, "starting")
        assert acts.replays == 2
        acts.is_running = True
        refused, page = (
            one.ask(f"{API}/replay", "POST"),
            one.ask(f"{PAGE}/replay", "POST", **BROWSER),
        )
        assert (refused.status, page.status) == (409, 409)
        assert "runs already" in refused.body
        assert "runs already" in page.body
        assert one.ask(f"{API.replace('plays', 'none')}/replay", "POST").status == 409
        acts.is_running = False
        assert one.ask(f"{API.replace('plays', 'none')}/replay", "POST").status == 404
        assert one.ask("/quarantine/none/replay", "POST", **BROWSER).status == 404
    assert acts.replays == 2


@pytest.mark.parametrize(
    ("state", "says"),
    [
        ("starting", "Its process starts. If an output needs Spark"),
        ("running", "running from 2026-03-01 12:00:00 40 40 of 100"),
        ("complete", "complete from 2026-03-01 12:00:00"),
        ("stopped", "stopped from 2026-03-01 12:00:00"),
        ("failed", f"it failed: {SCRIPT} try later"),
    ],
)
def test_how_the_replay_fares_is_on_the_page_and_in_the_api(
    state: QuarantineReplayState, says: str
) -> None:
    at = "2026-03-01T12:00:00Z"
    outputs = [ReplayedOutput("starts", 30, 4, 2, 3, 1, [(SCRIPT, 3)])]
    replay = QuarantineReplay("plays", state, at, None, 40, 100, outputs)
    if state == "failed":
        replay = replace(replay, problem=f"it failed: {SCRIPT}", advice="try later")
    with served(Workspace(quarantine_replayed=replay), token=None) as one:
        page, api = one.ask(PAGE), json.loads(one.ask(f"{API}/replay").body)
        twin = json.loads(one.ask(f"{PAGE}.json").body)
    found = Reader(page.body)
    assert found.unbalanced == []
    assert says in found.text
    assert f"starts 30 4 2 3 1 {SCRIPT} 3" in found.text
    assert (api["state"], api["read"], api["outputs"][0]["still_rejected"]) == (state, 40, 3)
    assert twin["replay"] == api


def test_who_may_only_look_sees_no_form_and_changes_nothing() -> None:
    acts = WorkspaceActs()
    requests = (
        (PAGE, urlencode({f"text:{FILE}": CHANGED, "do": "save"})),
        (PAGE, urlencode({f"text:{FILE}": CHANGED, "do": "try"})),
        (f"{PAGE}/replay", ""),
        (f"{API}/replay", ""),
        (f"{API}/try", CHANGED),
    )
    facts = Workspace()
    with served(facts, acts, token=None, read_only=True) as one:
        page = one.ask(PAGE).body
        assert ("read-only" in page, "<textarea" in page, "Replay once" in page) == (
            True,
            False,
            False,
        )
        assert [one.ask(path, "POST", body).status for path, body in requests] == [403] * 5
        assert one.ask(PAGE, "POST", "do=try").status == 200
        facts.is_broken = True
        broken = one.ask(PAGE, "POST", "do=try")
        assert (broken.status, f"{FILE}:3:7" in broken.body) == (400, True)
        facts.is_broken = False
        assert one.ask(f"{API}/try", "POST").status == 200
    with served(Workspace(), acts) as one:
        page = one.ask(PAGE).body
        assert (f"/login?next={PAGE}" in page, "<textarea" in page) == (True, False)
        assert [one.ask(path, "POST", body).status for path, body in requests] == [401] * 5
        assert one.ask(f"{API}/try", "POST").status == 200
        token = {"Authorization": f"Bearer {SECRET}"}
        assert one.ask(f"{API}/try", "POST", CHANGED, **token).status == 200
        assert "<textarea" in one.ask(PAGE, **token).body
    assert (acts.saved, acts.replays) == ([], 0)


def test_a_file_with_a_secret_is_not_shown_and_its_records_are_tried_as_it_is() -> None:
    facts = Workspace(text=None, hidden="line 3 may have a secret in it")
    with served(facts, WorkspaceActs(), token=None) as one:
        page, tried = one.ask(PAGE), one.ask(PAGE, "POST", "do=try")
    found = Reader(page.body)
    assert found.unbalanced == []
    assert f"{FILE} is not shown: line 3 may have a secret in it" in found.text
    assert "would leave the quarantine" in tried.body


def test_a_program_tries_the_file_as_it_is_as_text_and_with_its_schema() -> None:
    with served(Workspace(), token=None) as one:
        plain = json.loads(one.ask(f"{API}/try", "POST").body)
        assert [(one["written"], one["rejected"]) for one in plain["outputs"]] == [(6, 3)]
        assert plain["groups"][0]["mended"] == 7
        assert plain["check"]["files"] == []
        text = json.loads(one.ask(f"{API}/try", "POST", CHANGED).body)
        assert [one["path"] for one in text["check"]["files"]] == [FILE]
        files = json.dumps({"files": {FILE: CHANGED, AVSC: "{}"}})
        both = json.loads(one.ask(f"{API}/try", "POST", files).body)
        assert [one["path"] for one in both["check"]["files"]] == [FILE, AVSC]
        wrong = one.ask(f"{API}/try", "POST", "wrong")
        said = json.loads(wrong.body)["error"]
        assert (wrong.status, said["problems"][0]["line"]) == (400, 3)
        bad = ['{"files": [1]}', '{"files": {"x": 1}}', '{"files": {"../x.yaml": "a"}}']
        assert [one.ask(f"{API}/try", "POST", body).status for body in bad] == [400] * 3
        assert one.ask(f"{API}/try", "POST", "x" * 2_000_000).status == 413
        assert one.ask(f"{API.replace('plays', 'none')}/try", "POST").status == 404
        assert one.ask(f"{API.replace('plays', 'none')}/replay").status == 404
    with served(Workspace(is_kafka_away=True), token=None) as one:
        assert one.ask(f"{API}/try", "POST").status == 503
        assert "no Kafka broker" in one.ask(PAGE, "POST").body


def test_records_that_are_gone_huge_groups_and_replayed_ones_are_said_so() -> None:
    row = QuarantineRow("plays", "fronting", "plays_raw.quarantine")
    replayed = QuarantineGroup("VALUE_CONVERTER", "not JSON", "", 0, (), 1_234)
    huge = replace(replayed, count=2_000_000)
    cases = (
        (replace(row, is_there=False), "is not there any more"),
        (row, "the topic's retention has removed them"),
        (replace(row, records=9, groups_left=77, groups=[huge]), "77 smaller groups are not shown"),
        (
            replace(row, records=9, groups=[huge]),
            "2,000,000 not JSON VALUE_CONVERTER · all outputs",
        ),
        (
            replace(row, replayed=1_234, groups=[replayed]),
            "0 rejected records left, 0 B, in fronting/ plays_raw.quarantine · 1,234 more replayed",
        ),
        (replace(row, replayed=1_234, groups=[replayed]), "Finished by replays 1,234 not JSON"),
    )
    for rejected, says in cases:
        with served(Workspace(rejected=rejected), token=None) as one:
            found = Reader(one.ask(PAGE).body)
        assert found.unbalanced == []
        assert says in found.text
