"""Replays that are asked for on pages and by the API: planned, started, cancelled, compared, published."""

from __future__ import annotations

import json

import pytest

from headrace.errors import Terminal, Transient, UsageError
from headrace.http.acts import Acts
from headrace.http.replay_rows import Mistake, ReplayDetail, RequestRefused
from tests.unit.http.pages_facts import SCRIPT, SECRET, Answer, Served, replay_row
from tests.unit.http.replay_acts import (
    COMPARISON,
    PLAN,
    RUN,
    ReplayActs,
    Replayed,
    post,
    room,
    send,
)
from tests.unit.http.test_pages import Reader

FORM = {"app": "rmi", "start_ts": "2026-03-01T10:00:00Z", "end_ts": "2026-03-01T11:00:00Z"}
REFUSED = RequestRefused([Mistake("start_ts", f"{SCRIPT} is not a time", "write it as ISO-8601")])
TOKEN = {"Authorization": f"Bearer {SECRET}"}
CHANGES = (
    ("POST", "/replays/new"),
    ("POST", "/replays"),
    ("POST", f"/replays/{RUN}/cancel"),
    ("POST", f"/replays/{RUN}/publish"),
    ("POST", f"/replays/{RUN}/compare"),
    ("POST", "/api/v1/plans"),
    ("POST", "/api/v1/replays"),
    ("POST", f"/api/v1/replays/{RUN}/cancel"),
    ("POST", f"/api/v1/replays/{RUN}/publish"),
    ("GET", f"/api/v1/replays/{RUN}/compare?key=id"),
    ("GET", "/replays/new"),
)


def look(one: Served, path: str) -> Answer:
    return one.ask(path, **TOKEN)


def fields_of(page: Reader) -> dict[str, list[str]]:
    """Return the hidden fields of a page, as a browser would send them."""
    found: dict[str, list[str]] = {}
    tags = [(tag, name, value) for tag, name, value in page.attributes if tag == "input"]
    for place, (_, name, value) in enumerate(tags):
        if (name, value) == ("type", "hidden"):
            (_, _, field), (_, _, said) = tags[place + 1], tags[place + 2]
            found.setdefault(field, []).append(said)
    return found


def test_a_replay_is_chosen_planned_and_started() -> None:
    acts = ReplayActs()
    with room(acts) as one:
        first = Reader(look(one, "/replays/new").body)
        assert first.unbalanced == []
        assert "other (it cannot be replayed)" in first.text
        second = Reader(look(one, "/replays/new?app=rmi").body)
        assert second.unbalanced == []
        assert "○ live: live, a replay does not read it" in second.text
        assert "no rows from 2026-03-01T10:20:00Z to 2026-03-01T12:10:00Z" in second.text
        # The last whole hour up to which the table is complete.
        assert ("input", "value", "2026-03-01T11:00:00Z") in second.attributes
        assert ("input", "value", "2026-03-01T12:00:00Z") in second.attributes
        form = {
            **FORM,
            "select.plays": "past",
            "regions": "us-east-1, eu",
            "warmup": " 1h ",
            "cooldown": "",
            "stage": "yes",
        }
        planned = send(one, "/replays/new", {**form})
        page = Reader(planned.body)
        assert (planned.status, page.unbalanced) == (200, [])
        assert SCRIPT not in planned.body
        assert f"▲ clock: now() in {SCRIPT}" in page.text
        assert "is 15 min wider than live (10 min)" in page.text
        assert "steps 0 to 1: 120 rows" in page.text
        started = send(one, "/replays", fields_of(page))
    wanted = {
        **FORM,
        "select": {"plays": "past"},
        "regions": ["us-east-1", "eu"],
        "warmup": "1h",
        "stage": True,
    }
    assert (started.status, started.headers["location"]) == (303, f"/replays/{RUN}")
    assert acts.asked == [("plan", wanted), ("start", (wanted, RUN, PLAN))]


def test_tables_need_no_application() -> None:
    acts = ReplayActs()
    with room(acts) as one:
        page = Reader(look(one, "/replays/new?tables=lake.tv.plays&tables=lake.tv.starts").body)
        assert ("input", "name", "to") in page.attributes
        assert ("input", "name", "warmup") not in page.attributes
        form = {**FORM, "tables": ["lake.tv.plays", "lake.tv.starts"], "to": "jsonl:out"}
        del form["app"]
        send(one, "/replays/new", form)
    assert acts.asked == [("plan", form)]


def test_what_is_wrong_stands_beside_its_field_and_what_was_typed_is_kept() -> None:
    with room(ReplayActs(problem=REFUSED)) as one:
        answer = send(one, "/replays/new", {**FORM, "start_ts": SCRIPT, "regions": "eu"})
        page = Reader(answer.body)
        assert (answer.status, page.unbalanced, SCRIPT in answer.body) == (400, [], False)
        assert ("input", "value", SCRIPT) in page.attributes
        assert ("input", "value", "eu") in page.attributes
        assert ("input", "aria-describedby", "e-start_ts-1") in page.attributes
        assert "e-start_ts-1" in page.ids
        assert page.text.count(f"▲ {SCRIPT} is not a time") == 1
        assert send(one, "/replays", {**FORM, "run_id": RUN}).status == 400


def test_every_field_has_a_label() -> None:
    with room(ReplayActs()) as one:
        for path in ("/replays/new?app=rmi", "/replays/new?tables=lake.tv.plays"):
            page = Reader(look(one, path).body)
            labelled = {
                value for tag, name, value in page.attributes if (tag, name) == ("label", "for")
            }
            ids = {value for value in page.ids if value.startswith("f-")}
            assert ids
            assert ids == labelled


def test_a_plan_that_would_be_refused_cannot_be_started() -> None:
    refused = {"message": "the period is not complete", "advice": "wait"}
    with room(ReplayActs(plan={**PLAN, "refused": refused})) as one:
        page = Reader(send(one, "/replays/new", FORM).body)
    assert "This replay would be refused: the period is not complete wait" in page.text
    assert "Start this replay" not in page.text
    with room(ReplayActs(plan={**PLAN, "steps": 0, "rows": 0, "picture": []})) as one:
        assert "There is nothing to replay" in Reader(send(one, "/replays/new", FORM).body).text


def test_a_plan_of_another_request_is_not_kept_with_a_replay() -> None:
    acts = ReplayActs()
    with room(acts) as one:
        send(one, "/replays/new", FORM)
        send(one, "/replays", {**FORM, "regions": "eu", "run_id": RUN})
    assert acts.asked[1] == ("start", ({**FORM, "regions": ["eu"]}, RUN, None))


def test_programs_plan_start_cancel_publish_and_compare() -> None:
    acts = ReplayActs()
    with room(acts) as one:
        assert json.loads(post(one, "/api/v1/plans", FORM).body) == PLAN
        started = post(one, "/api/v1/replays", FORM)
        assert (started.status, json.loads(started.body)) == (202, {"run_id": RUN})
        base = f"/api/v1/replays/{RUN}"
        assert json.loads(post(one, f"{base}/cancel", "").body)["state"] == "cancelled"
        post(one, f"{base}/cancel", {"delete_output": True})
        assert json.loads(post(one, f"{base}/publish").body)["rows"] == 120
        compared = json.loads(look(one, f"{base}/compare?key=id&ignore=a").body)
        assert compared["matched"] == COMPARISON["matched"]
        for path in ("cancel", "publish"):
            assert post(one, f"/api/v1/replays/none/{path}", "").status == 404
        assert look(one, "/api/v1/replays/none/compare").status == 404
    assert acts.asked[:6] == [
        ("plan", FORM),
        ("start", (FORM, None, None)),
        ("cancel", (RUN, False)),
        ("cancel", (RUN, True)),
        ("publish", RUN),
        ("compare", (RUN, {"key": "id", "ignore": "a"})),
    ]


def test_a_program_learns_which_field_is_wrong() -> None:
    with room(ReplayActs(problem=REFUSED)) as one:
        answer = post(one, "/api/v1/plans", FORM)
        error = json.loads(answer.body)["error"]
        assert (answer.status, error["field"]) == (400, "start_ts")
        assert error["fields"] == [
            {
                "field": "start_ts",
                "message": f"{SCRIPT} is not a time",
                "advice": "write it as ISO-8601",
            }
        ]


@pytest.mark.parametrize("body", ["", "[]", "1", "{", '{"a": 1', '"text"'])
def test_a_body_that_is_no_object_is_refused(body: str) -> None:
    acts = ReplayActs(problem=REFUSED)
    with room(acts) as one:
        for path in ("/api/v1/plans", "/api/v1/replays"):
            assert post(one, path, body).status == 400
        assert post(one, "/api/v1/plans", "x" * 70_000).status == 413
        assert send(one, "/replays/new", {"app": "x" * 70_000}).status == 413
        for wrong in ({"delete_output": 1}, {"what": True}):
            assert post(one, f"/api/v1/replays/{RUN}/cancel", wrong).status == 400


@pytest.mark.parametrize(
    ("problem", "status"),
    [
        (UsageError("no such column", "name another"), 400),
        (Terminal("it has staged nothing", "stage it"), 409),
        (Transient("others are at work", "wait"), 503),
    ],
)
def test_why_something_was_not_done_is_said(problem: Terminal, status: int) -> None:
    facts = Replayed(detail=ReplayDetail(RUN, can_compare=True))
    with room(ReplayActs(problem=problem), facts) as one:
        for path in ("cancel", "publish", "compare"):
            page = send(one, f"/replays/{RUN}/{path}", {"key": SCRIPT})
            assert page.status == status
            assert problem.message in page.body
            assert problem.advice in page.body
            assert SCRIPT not in page.body
        assert post(one, f"/api/v1/replays/{RUN}/publish").status == status
        kept = Reader(send(one, f"/replays/{RUN}/compare", {"key": "a,b"}).body)
        assert ("input", "value", "a,b") in kept.attributes


@pytest.mark.parametrize(("method", "path"), CHANGES)
def test_who_may_not_change_anything_is_refused(method: str, path: str) -> None:
    acts = ReplayActs()
    with room(acts) as one:
        assert one.ask(path, method, "{}").status == 401
        crossed = one.ask(path, method, "{}", Sec_Fetch_Site="cross-site", **TOKEN)
        # A page that only shows a form may be linked to.
        assert crossed.status == (200 if path == "/replays/new" and method == "GET" else 403)
        one.board.read_only = True
        assert one.ask(path, method, "{}", **TOKEN).status == 403
    assert acts.asked == []


def test_a_read_only_room_shows_no_buttons() -> None:
    with room(ReplayActs(), read_only=True) as one:
        assert '<body class="read-only">' in look(one, "/replays").body
    with room(ReplayActs()) as one:
        assert "<body>" in look(one, "/replays").body


def test_a_command_that_starts_nothing_offers_nothing() -> None:
    with room(Acts()) as one:
        assert look(one, "/replays/new").status == 404
        assert look(one, "/replays/new.json").status == 404
        assert send(one, "/replays/new", FORM).status == 404
        assert send(one, "/replays", FORM).status == 404
        assert post(one, "/api/v1/plans", FORM).status == 404
        assert post(one, "/api/v1/replays", FORM).status == 404


def test_a_replay_shows_its_request_its_plan_and_its_result() -> None:
    detail = ReplayDetail(
        RUN,
        "iceberg:lake.tv.rmi",
        "rmi",
        "2026-03-01T12:00:00Z",
        "lake.tv.rmi__again",
        "lake.tv.rmi",
        key=["event_id"],
        can_cancel=True,
        can_compare=True,
        can_publish=True,
        can_delete_output=True,
        asked={"app": "rmi", "start_ts": "a", "end_ts": SCRIPT, "regions": ["eu", SCRIPT]},
        plan={**PLAN, "rows": 9_999},
        comparison=COMPARISON,
    )
    with room(ReplayActs(), Replayed(detail=detail)) as one:
        answer = look(one, f"/replays/{RUN}")
        page = Reader(answer.body)
        assert (answer.status, page.unbalanced, SCRIPT in answer.body) == (200, [], False)
        assert f"regions eu, {SCRIPT}" in page.text
        assert "9,999 when it was approved" in page.text
        assert ("a", "href", "/apps/rmi") in page.attributes
        # Never more than it is.
        assert "✗ 99.9999 %" in page.text
        assert f'extra {{"event_id": "{SCRIPT}"}}' in page.text
        assert ("input", "value", "event_id") in page.attributes
        for path in ("cancel", "publish", "compare"):
            assert ("form", "action", f"/replays/{RUN}/{path}") in page.attributes
    published = ReplayDetail(RUN, live="lake.tv.rmi", published_rows=120)
    with room(ReplayActs(), Replayed(detail=published)) as one:
        page = Reader(look(one, f"/replays/{RUN}").body)
        assert "✓ 120 rows were published: they are in lake.tv.rmi" in page.text
        assert all(tag != "form" for tag, _, _ in page.attributes)


@pytest.mark.parametrize(
    ("state", "steps", "words"),
    [
        ("starting", 0, "It is starting"),
        ("cancelled", 0, "It was cancelled"),
        ("failed", 0, "It has ended before it had a plan"),
        ("failed", 10, "backfill replay --resume --run-id"),
    ],
)
def test_a_replay_without_a_plan_has_a_page(state: str, steps: int, words: str) -> None:
    row = replay_row(
        run_id=RUN,
        state=state,
        steps=steps,
        steps_done=0,
        rows=None,
        rows_planned=None,
        frontier=None,
        threshold_ms=None,
        problem=f"it broke at {SCRIPT}" if state == "failed" else None,
        sources=[],
    )
    with room(ReplayActs(), Replayed(row=row, detail=ReplayDetail(RUN))) as one:
        answer = look(one, f"/replays/{RUN}")
        page = Reader(answer.body)
        assert (page.unbalanced, SCRIPT in answer.body) == ([], False)
        assert words in page.text
        assert (f"it broke at {SCRIPT}" in page.text) == (state == "failed")
        assert state in Reader(look(one, "/replays").body).text


def test_the_pages_of_tables_and_applications_lead_there() -> None:
    with room(ReplayActs()) as one:
        table, app = (Reader(look(one, path).body) for path in ("/tables/starts", "/apps/rmi"))
        assert ("a", "href", "/replays/new?tables=lake.tv.starts") in table.attributes
        assert ("a", "href", "/replays/new?app=rmi") in app.attributes
        for page in (table, app):
            (link,) = [
                v for _, n, v in page.attributes if n == "href" and v.startswith("/replays/new")
            ]
            assert look(one, link).status == 200
