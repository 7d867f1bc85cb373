"""What a page or a program may ask of a replay: every value is checked, and becomes one word."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from fleet.replay_command import replay_words
from fleet.replay_request import parse_body
from fleet.replayable import replayable
from headrace.config.load import load_workspace
from headrace.errors import HeadraceError
from headrace.http.replay_rows import RequestRefused
from tests.unit.config.workspaces import SOUND, Files

if TYPE_CHECKING:
    from pathlib import Path

    from headrace.config.workspace.workspace import Workspace

DAY = {"start_ts": "2026-03-01", "end_ts": "2026-03-02T00:00:00+01:00"}
TABLE = "lake.playback.starts"
OF_TABLES: dict[str, object] = {"tables": [TABLE], **DAY}
OF_APP: dict[str, object] = {"app": "rmi", **DAY}


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    made = Files(tmp_path)
    for name, text in SOUND.items():
        made.write(name, text)
    return load_workspace(tmp_path)


def words(workspace: Workspace, request: dict[str, Any], *, is_plan: bool = False) -> list[str]:
    checked = replay_words(request, replayable(workspace), workspace, is_plan=is_plan)
    return checked.plan(workspace) if is_plan else checked.replay(workspace, "again")


def refused(workspace: Workspace, request: dict[str, Any]) -> list[tuple[str, str]]:
    with pytest.raises(RequestRefused) as told:
        words(workspace, request)
    return [(one.field, one.message) for one in told.value.mistakes]


def test_a_request_becomes_the_words_of_a_command(workspace: Workspace) -> None:
    asked = {
        **OF_TABLES,
        "regions": ["eu-west-1", "us"],
        "max_misalignment": "5min",
        "order": "strict",
        "rate_limit": 5000,
        "to": "jsonl:out/again",
    }
    root = workspace.root.resolve()
    assert words(workspace, asked) == [
        *("backfill", "replay", "-o", "json", f"--workspace={workspace.root}", "--run-id=again"),
        f"--table={TABLE}",
        "--start-ts=2026-03-01",
        "--end-ts=2026-03-02T00:00:00+01:00",
        "--regions=eu-west-1,us",
        "--max-misalignment=5min",
        "--order=strict",
        "--rate-limit=5000.000000",
        f"--to=jsonl:{root}/out/again",
    ]
    planned = words(
        workspace, {**OF_APP, "select": {"impressions": "backfill-impressions"}}, is_plan=True
    )
    assert planned[:2] == ["backfill", "plan"]
    assert f"--config={workspace.root}/apps/rmi.yaml" in planned
    assert "--select=impressions=backfill-impressions" in planned
    assert "--stage" in words(workspace, {**OF_APP, "stage": True})


def test_no_value_is_taken_for_an_option(workspace: Workspace) -> None:
    found = words(
        workspace, {**OF_TABLES, "regions": ["--delete-output", "-c"], "to": "kafka:consumer/new"}
    )
    assert "--regions=--delete-output,-c" in found
    assert all(one.startswith("--") or "/" not in one for one in found)


@pytest.mark.parametrize(
    ("changes", "field", "message"),
    [
        ({"start_ts": "yesterday"}, "start_ts", "yesterday is not a time"),
        ({"start_ts": None}, "start_ts", "Input should be a valid string"),
        ({"start_ts": ""}, "start_ts", "String should have at least 1 character"),
        ({"end_ts": "2026-03-01"}, "end_ts", "the period is empty"),
        ({"end_ts": "2" * 400}, "end_ts", "String should have at most 300 characters"),
        ({"max_misalignment": "5"}, "max_misalignment", "5: "),
        ({"max_misalignment": "-5min"}, "max_misalignment", "-5min: "),
        ({"order": "random"}, "order", "Input should be 'bounded', 'any' or 'strict'"),
        ({"rate_limit": "fast"}, "rate_limit", "--rate-limit fast: "),
        ({"rate_limit": -1}, "rate_limit", "--rate-limit -1"),
        ({"rate_limit": True}, "rate_limit", "Input should be a valid string"),
        ({"regions": ["a,b"]}, "regions", "'a,b' is not a region"),
        ({"regions": ["a\nb"]}, "regions", "'a\\nb' has characters that cannot be shown"),
        ({"app": None, "tables": ["a\x00b"]}, "tables", "has characters that cannot be shown"),
        ({"max_misalignment": "5min\x00"}, "max_misalignment", "cannot be shown"),
        ({"regions": {"a": 1}}, "regions", "Input should be"),
        ({"regions": ["a"] * 101}, "regions", "should have at most 100 items"),
        ({"tables": ["lake.playback.other"]}, "tables", "no file of the workspace names a table"),
        ({"tables": ["../../etc/passwd"]}, "tables", "no file of the workspace names a table"),
        ({"tables": []}, "app", "a replay is of an application or of tables"),
        ({"app": "rmi"}, "app", "a replay is of an application or of tables"),
        ({"warmup": "1h"}, "warmup", "it is for an application"),
        ({"stage": True}, "stage", "it is for an application"),
        ({"select": {"a": "b"}}, "select", "it is for an application"),
        ({"stage": "yes please"}, "stage", "Input should be a valid boolean"),
        ({"to": None}, "to", "it is missing"),
        ({"to": "s3://bucket"}, "to", "s3://bucket is not a valid target"),
        ({"table": TABLE}, "table", "it is not known"),
        ({"run_id": "mine"}, "run_id", "it is not known"),
        ({"run-id": "mine"}, "run-id", "it is not known"),
    ],
)
def test_a_mistake_of_a_request_names_its_field(
    workspace: Workspace, changes: dict[str, Any], field: str, message: str
) -> None:
    ((found, said), *_) = refused(workspace, {**OF_TABLES, "to": "jsonl:out", **changes})
    assert (found, said.startswith(message) or message in said) == (field, True), said


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"app": "rmy"}, "app"),
        ({"app": "../rmi"}, "app"),
        ({"app": ""}, "app"),
        ({"to": "jsonl:out"}, "to"),
        # Its sink has no time_column.
        ({"warmup": "1h"}, "warmup"),
        ({"cooldown": "1h"}, "cooldown"),
        ({"select": {"impressions": "live-impressions"}}, ""),
        ({"select": {"clicks": "live-impressions"}}, ""),
    ],
)
def test_a_mistake_about_an_application_names_its_field(
    workspace: Workspace, changes: dict[str, Any], field: str
) -> None:
    assert refused(workspace, {**OF_APP, **changes})[0][0] == field


def test_all_mistakes_are_said_together(workspace: Workspace) -> None:
    asked = {"tables": [TABLE], "start_ts": "x", "to": "jsonl:out", "regoins": []}
    assert [field for field, _ in refused(workspace, asked)] == ["start_ts", "end_ts", "regoins"]


@pytest.mark.parametrize(
    "target",
    [
        "jsonl:../elsewhere",
        "jsonl:/tmp/elsewhere",
        "jsonl:.",
        "jsonl:.headrace/state/backfill/x",
        "jsonl:.git/hooks",
        "jsonl:out/../../elsewhere",
        "jsonl:apps",
        "jsonl:link/out",
        "jsonl:out/\x00",
        "jsonl:out/a\nb",
        "kafka:nowhere/topic",
        "kafka:consumer/a b",
        "kafka:consumer/..",
        "kafka:consumer/a/b",
        # A stream writes this one, and a lake table reads it.
        "kafka:consumer/playback_starts",
        "kafka:fronting/playback_raw",
    ],
)
def test_records_go_to_no_place_that_is_in_use_or_elsewhere(
    workspace: Workspace, target: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    (workspace.root / "link").symlink_to(tmp_path_factory.mktemp("elsewhere"))
    assert [field for field, _ in refused(workspace, {**OF_TABLES, "to": target})] == ["to"]


def test_records_go_to_a_new_folder_or_topic(workspace: Workspace) -> None:
    (workspace.root / "empty").mkdir()
    root = workspace.root.resolve()
    for folder in ("empty", "out/2026-03-01", f"{root}/absolute"):
        found = words(workspace, {**OF_TABLES, "to": f"jsonl:{folder}"})
        assert found[-1] == f"--to=jsonl:{root / folder}"
    assert (
        words(workspace, {**OF_TABLES, "to": "kafka:consumer/again"})[-1]
        == "--to=kafka:consumer/again"
    )


def test_what_can_be_replayed_is_what_files_declare(workspace: Workspace) -> None:
    found = replayable(workspace)
    assert [one.name for one in found.choices.apps] == ["rmi"]
    (app,) = found.choices.apps
    (source,) = app.sources
    assert [(one.name, one.table) for one in source.candidates] == [
        ("live-impressions", None),
        ("backfill-impressions", "lake.playback.impressions"),
    ]
    assert (app.can_stage, app.has_time_column, app.threshold) == (True, False, "15min")
    assert set(found.choices.tables) >= {TABLE, "lake.playback.impressions"}
    assert "consumer/playback_starts" in found.topics
    assert found.choices.regions == ["us-east-1"]


def test_a_broken_file_is_no_application(workspace: Workspace) -> None:
    path = workspace.root / "apps/rmi.yaml"
    path.write_text(path.read_text(encoding="utf-8") + "unknown: 1\n", encoding="utf-8")
    assert refused(workspace, OF_APP)[0] == ("app", "no file declares an application rmi")


def test_a_secret_of_the_workspace_is_in_no_answer(workspace: Workspace) -> None:
    path = workspace.root / "headrace.yaml"
    secret = "hunter2-and-more"  # noqa: S105 - the test's own
    text = path.read_text(encoding="utf-8")
    path.write_text(
        text.replace("properties: {}", f"properties: {{sasl.password: {secret}}}"), encoding="utf-8"
    )
    again = load_workspace(workspace.root)
    found = replayable(again)
    assert secret not in repr(found.choices)
    with pytest.raises(HeadraceError) as told:
        words(again, {**OF_TABLES, "to": "kafka:fronting/playback_raw"})
    assert secret not in str(told.value)


def test_numbers_and_lists_are_read_as_people_write_them() -> None:
    body = parse_body(
        {**OF_TABLES, "tables": f"{TABLE}, lake.a.b", "regions": "a,b ", "rate_limit": "auto"}
    )
    assert (body.tables, body.regions, body.rate_limit) == ((TABLE, "lake.a.b"), ("a", "b"), "auto")
