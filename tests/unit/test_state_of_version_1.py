"""State that version 1 has written is read for good; what a newer version writes is told apart.

The samples are never made again by today's code: a change that breaks one breaks an upgrade.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from backfill.apps.publish import publish_run
from backfill.command.cli import backfill
from backfill.plan.plan import read_plan
from backfill.results.runs import cancel
from backfill.run.state import RunState
from headrace import state_files
from headrace.config.load import load_app, load_stream, load_workspace
from headrace.config.stream.effective import effective
from headrace.errors import Terminal
from headrace.landing.commit_state import CommitState, Span
from headrace.signals import Drain
from headrace.state_version import VERSION, WrittenByNewer, refuse_newer, require_known
from router.ledger.entries import Counts, LedgerStretch
from router.ledger.places import Place, ReadTopic, read_place
from router.quarantine.replay import Request, replay_quarantine
from stream_app.rewind.rewinding import RewindOptions, can_go_back_to, rewind

if TYPE_CHECKING:
    from collections.abc import Callable

    from headrace.config.workspace.workspace import Workspace

SAMPLES = Path(__file__).parent / "state_of_version_1"
PLACE = (
    '{"version":1,"cluster":"fronting","topic":"raw","topic_id":"an id","batch":3,'
    '"at":"2026-03-01T00:00:00.000Z","from":10,"to":17,"lost":2,"epoch":4,"read":5,"written":2,'
    '"filtered":1,"dropped":{"nulls":1},"quarantined":1,"before":[{"from":0,"to":10,"read":10,'
    '"written":10,"filtered":0,"dropped":{},"quarantined":0}]}'
)
COMMIT = (
    '{"v":1,"writer":"starts","topic":"playback_starts","host":"a","pid":9355,'
    '"started":"2026-11-20T06:49:46.258Z","topic_id":"bt7/YChCRcep1AwOXVL/2w",'
    '"snapshot":2831299392948969258,"offsets":{"0":[0,5196,7750,0],"1":[0,4846,7229]}}'
)
APPLICATION = {
    "headrace.yaml": """\
clusters: {fronting: {bootstrap_servers: "127.0.0.1:1"}}
catalogs: {lake: {type: sql, uri: "sqlite:///catalog.db", warehouse: warehouse}}
""",
    "event.avsc": '{"type": "record", "name": "e", "fields": [{"name": "id", "type": "long"}]}',
    "app.yaml": """\
kind: app
name: counted
sources: {live: {type: kafka, cluster: fronting, topics: raw, format: json, schema: event.avsc}}
transform: {sql: "SELECT id FROM live"}
sink: {type: jsonl, path: out}
""",
    "stream.yaml": """\
kind: stream
name: plays
source: {type: kafka, cluster: fronting, topic: raw, format: json, schema: event.avsc}
outputs: [{name: all, sink: {type: kafka, cluster: fronting, topic: all, format: json}}]
""",
}


def test_a_ledger() -> None:
    topic, place = read_place("@ 1", PLACE.encode())
    counts = Counts(5, 2, 1, {"nulls": 1}, 1)
    first = LedgerStretch(0, 10, Counts(10, written=10))
    assert topic == ReadTopic("fronting", "raw", "an id")
    assert place == Place(
        3, "2026-03-01T00:00:00.000Z", LedgerStretch(10, 17, counts, 2, 0, epoch=4), (first,)
    )


def test_a_tables_commit_state() -> None:
    state = CommitState.from_json(COMMIT)
    assert state.spans == {0: Span(0, 5196, 7750, 0), 1: Span(0, 4846, 7229)}
    assert str(state.identity) == "starts on a (pid 9355, started 2026-11-20T06:49:46.258Z)"


def test_a_commit_state_of_a_newer_version() -> None:
    newer = COMMIT.replace('"v":1', '"v":2').replace('"offsets"', '"elsewhere"')
    with pytest.raises(WrittenByNewer, match="version 2, and this one reads versions up to 1"):
        CommitState.from_json(newer)
    with pytest.raises(Terminal, match="cannot be read"):
        CommitState.from_json(COMMIT[:-9])


def test_a_replay() -> None:
    state = RunState(SAMPLES)
    record, position = state.require_record(), state.position()
    plan = read_plan(SAMPLES / "plan.jsonl")
    assert (record.steps, record.rows) == (len(plan.steps), 29_835)
    assert (position.steps_done, sum(position.rows.values())) == (2, 29_835)


def test_a_folder_of_before_there_were_versions(tmp_path: Path) -> None:
    (tmp_path / "backfill").mkdir()
    require_known(tmp_path)
    assert (tmp_path / "version").read_text(encoding="utf-8") == f"{VERSION}\n"
    require_known(tmp_path)


def test_a_folder_of_a_newer_version_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "version").write_text("7\n", encoding="utf-8")
    with pytest.raises(WrittenByNewer, match="it has version 7") as refused:
        require_known(tmp_path)
    assert "start the newer headrace" in refused.value.advice
    assert (tmp_path / "version").read_text(encoding="utf-8") == "7\n"


def test_looking_at_a_version_writes_nothing(tmp_path: Path) -> None:
    refuse_newer(tmp_path / "state")
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "version").write_text("7\n", encoding="utf-8")
    with pytest.raises(WrittenByNewer, match="it has version 7"):
        refuse_newer(tmp_path)


@pytest.fixture
def newer(tmp_path: Path) -> Workspace:
    """A workspace whose state_dir a newer headrace has written: a run, and an application."""
    for path, text in APPLICATION.items():
        (tmp_path / path).write_text(text, encoding="utf-8")
    workspace = load_workspace(tmp_path)
    state_dir = workspace.state_dir
    shutil.copytree(SAMPLES, state_dir / "backfill/again")
    # A rewind that was killed: whoever opens the state next would go on with it.
    for folder in ("checkpoint/offsets", "rewind/checkpoint"):
        (state_dir / "app/counted" / folder).mkdir(parents=True)
    (state_dir / "app/counted/rewind/plan.json").write_text('{"of": "tomorrow"}', encoding="utf-8")
    (state_dir / "version").write_text("7\n", encoding="utf-8")
    return workspace


def end_run(workspace: Workspace) -> object:
    return cancel(workspace, "again", delete_output=False)


def publish(workspace: Workspace) -> object:
    return publish_run(workspace, "again")


def resume_run(workspace: Workspace) -> object:
    words = ["replay", "--resume", "--run-id", "again", "--to", f"jsonl:{workspace.root}/out"]
    return backfill.main([*words, "--workspace", str(workspace.root)], standalone_mode=False)


def list_batches(workspace: Workspace) -> object:
    return can_go_back_to(load_app(workspace.root / "app.yaml", workspace), workspace)


def go_back(workspace: Workspace) -> object:
    app = load_app(workspace.root / "app.yaml", workspace)
    return rewind(app, workspace, RewindOptions("0"), lambda _: None)


def replay_rejected(workspace: Workspace) -> object:
    stream = load_stream(workspace.root / "stream.yaml", workspace)
    given = effective(stream, workspace, None), Request()
    return replay_quarantine(workspace, *given, lambda *_: [], Drain())


@pytest.mark.parametrize(
    "work", [end_run, publish, resume_run, list_batches, go_back, replay_rejected]
)
def test_what_a_newer_headrace_has_written_is_left_alone(
    newer: Workspace, work: Callable[[Workspace], object]
) -> None:
    before = files_in(newer.root)
    with pytest.raises(WrittenByNewer, match="it has version 7"):
        work(newer)
    assert files_in(newer.root) == before


def files_in(folder: Path) -> dict[Path, bytes | None]:
    return {one: one.read_bytes() if one.is_file() else None for one in folder.rglob("*")}


def test_a_damaged_version_is_no_newer_one(tmp_path: Path) -> None:
    (tmp_path / "version").write_bytes(b"x7")
    with pytest.raises(Terminal, match="is damaged: it should hold the version"):
        require_known(tmp_path)


def test_a_damaged_file_is_named(tmp_path: Path) -> None:
    path = tmp_path / "position.json"
    path.write_bytes(b'{"steps_done": 2')
    with pytest.raises(Terminal, match=r"position\.json is damaged"):
        state_files.find(path, dict)
