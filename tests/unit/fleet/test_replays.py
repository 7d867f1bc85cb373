"""A run of this host as its page shows it: how far it is, how long it takes, what may be done."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from backfill.plan.period import Period
from backfill.plan.plan import Plan, planned_source
from backfill.plan.steps import Limits, bounded
from backfill.plan.units import Unit
from backfill.run.request import state_of
from backfill.run.state import RunPosition, RunRecord
from fleet.launches import Launch, LaunchFolder
from fleet.replay_acts import ReplayActs
from fleet.replays import Replays
from headrace.config.load import load_workspace
from headrace.errors import Terminal
from headrace.http.replay_rows import RequestRefused
from headrace.locks import hold
from tests.unit.config.workspaces import SOUND, Files

if TYPE_CHECKING:
    from pathlib import Path

    from backfill.run.state import RunState
    from headrace.config.workspace.workspace import Workspace

MINUTE = 60_000_000
TABLE = "lake.playback.starts"
RUN = "replay-20260301-120000-000000"
UNITS = [Unit(TABLE, f"f-{n}.parquet", n * MINUTE, n * MINUTE + 5, 10, 1_000) for n in range(10)]
SINK = {"mode": "upsert", "key": ["event_id"], "time_column": "event_ts"}


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    made = Files(tmp_path)
    for name, text in SOUND.items():
        made.write(name, text)
    return load_workspace(tmp_path)


def begun(workspace: Workspace, to: str = "jsonl:/tmp/out", **changes: object) -> RunState:
    steps = tuple(bounded(UNITS, MINUTE // 2, Limits(10, 10**9)))
    source = planned_source(TABLE, 5, UNITS, UNITS, MINUTE)
    plan = Plan(Period(0, 10 * MINUTE), (), "bounded", MINUTE, (source,), steps)
    record = RunRecord(to, "2026-03-01T12:00:00Z", len(steps), plan.rows, (TABLE,))
    state = state_of(workspace, RUN)
    state.begin(plan, replace(record, **changes))  # type: ignore[arg-type]  # the tests' own
    return state


def staged(workspace: Workspace, **changes: object) -> RunState:
    values: dict[str, object] = {
        "app": str(workspace.root / "apps/rmi.yaml"),
        "staged": "lake.playback.rmi_out__again",
        "sink": SINK,
        "emitted": Period(0, 10 * MINUTE),
    }
    return begun(workspace, "iceberg:lake.playback.rmi_out", **(values | changes))


def test_a_run_that_goes_on_says_how_long_it_takes(workspace: Workspace) -> None:
    now_s = 100.0
    replays = Replays(workspace, clock=lambda: now_s)
    state = begun(workspace)
    with hold(state.lock, RUN, ""):
        # What was there when somebody looked first does not count for its speed.
        state.advance(RunPosition(2, rows={TABLE: 20}))
        first = replays.row(RUN)
        now_s += 10
        state.advance(RunPosition(6, rows={TABLE: 60}))
        later = replays.row(RUN)
    stopped = replays.row(RUN)
    assert first is not None
    assert later is not None
    assert stopped is not None
    assert (first.state, first.eta_s, later.eta_s) == ("running", None, 10.0)
    assert (later.rows, later.rows_planned, later.frontier) == (
        60,
        100,
        "1970-01-01T00:06:00.000000Z",
    )
    assert (stopped.state, stopped.eta_s) == ("stopped", None)


def test_why_a_run_has_stopped_is_said_where_it_was_started_here(workspace: Workspace) -> None:
    begun(workspace)
    folder = LaunchFolder(workspace, RUN)
    folder.keep(Launch(RUN, "2026-03-01T12:00:00.000000Z"))
    (folder.folder / "said.json").write_text(
        '{"error": {"message": "the disk is full", "exit_code": 1}}', encoding="utf-8"
    )
    row = Replays(workspace).row(RUN)
    assert row is not None
    assert (row.state, row.problem) == ("failed", "the disk is full")


@pytest.mark.parametrize(
    ("is_complete", "changes", "allowed"),
    [
        (False, {}, (True, False, False)),
        (True, {}, (True, True, True)),
        (True, {"sink": {**SINK, "deleted": "gone"}}, (True, True, False)),
        (True, {"published": 12}, (False, False, False)),
        (True, {"staged": None}, (False, False, False)),
    ],
)
def test_what_may_be_done_with_a_result(
    workspace: Workspace,
    changes: dict[str, object],
    allowed: tuple[bool, bool, bool],
    *,
    is_complete: bool,
) -> None:
    state = staged(workspace, **changes)
    if is_complete:
        state.store_certificate('{"rows": 100}')
    detail = Replays(workspace).detail(RUN)
    assert detail is not None
    assert (detail.can_cancel, detail.can_compare, detail.can_publish) == allowed
    assert (detail.live, detail.key) == ("lake.playback.rmi_out", ["event_id"])


@pytest.mark.parametrize(
    ("options", "field"),
    [
        ({"ky": "a"}, "ky"),
        ({"key": "a`b"}, "key"),
        ({"key": "a\nb"}, "key"),
        ({"ignore": "x" * 1_001}, "ignore"),
        ({"min_match": "most"}, "min_match"),
        ({"boundary": "5"}, "boundary"),
    ],
)
def test_a_comparison_that_makes_no_sense_is_refused(
    workspace: Workspace, options: dict[str, str], field: str
) -> None:
    staged(workspace).store_certificate('{"rows": 100}')
    with pytest.raises(RequestRefused) as told:
        ReplayActs(workspace).compare(RUN, options)
    assert [one.field for one in told.value.mistakes] == [field]


def test_a_comparison_needs_a_key_and_a_result(workspace: Workspace) -> None:
    state = staged(workspace, sink={"mode": "append"})
    with pytest.raises(Terminal, match="no complete staged result"):
        ReplayActs(workspace).compare(RUN, {"key": "a"})
    state.store_certificate('{"rows": 100}')
    with pytest.raises(RequestRefused, match="key: it is missing"):
        ReplayActs(workspace).compare(RUN, {})


def test_what_cannot_be_cancelled_says_why(workspace: Workspace) -> None:
    state = begun(workspace, "kafka:consumer/again")
    with pytest.raises(Terminal, match="cannot be told from other rows"):
        ReplayActs(workspace).cancel(RUN, delete_output=True)
    state.store_certificate('{"rows": 100}')
    with pytest.raises(Terminal, match="is complete"):
        ReplayActs(workspace).cancel(RUN, delete_output=False)
    assert state.exists


def test_a_run_of_a_terminal_is_cancelled_and_keeps_its_page(workspace: Workspace) -> None:
    out = workspace.root / "out"
    out.mkdir()
    (out / "step-000000.jsonl").touch()
    state = begun(workspace, f"jsonl:{out}")
    shown = Replays(workspace).detail(RUN)
    assert shown is not None
    assert (shown.to, shown.can_delete_output) == ("jsonl:out", True)
    found = ReplayActs(workspace).cancel(RUN, delete_output=True)
    assert found == {"run_id": RUN, "state": "cancelled"}
    assert (state.exists, out.exists()) == (False, False)
    row = Replays(workspace).row(RUN)
    assert row is not None
    assert row.state == "cancelled"
    # The name is used again.
    again = begun(workspace, begun="2999-01-01T00:00:00Z")
    with hold(again.lock, RUN, ""):
        detail = Replays(workspace).detail(RUN)
    assert detail is not None
    assert (detail.is_ending, detail.can_cancel) == (False, True)
