"""A period of the past that goes on beyond what a table says is complete is refused."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from backfill.plan.preconditions import NotComplete
from backfill.streams import Replay
from headrace.config.load import load_workspace
from headrace.iceberg.catalog import load_table, open_catalog
from headrace.landing.completeness import Completeness, Ends, completeness_property
from headrace.times import format_time_us, parse_time_us
from tests.integration.backfill.in_process import Commands
from tests.integration.backfill.lake_tables import Stored, make_table

if TYPE_CHECKING:
    from pathlib import Path

WORKSPACE = """\
clusters: {}
catalogs:
  lake: {type: sql, uri: "sqlite:///.headrace/catalog.db", warehouse: ".headrace/warehouse"}
"""
NAME = "lake.replays.late"
NOON_US = parse_time_us("2026-03-01T12:00:00Z")
NOON = format_time_us(NOON_US)
ROWS = 20


@pytest.fixture
def commands(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Commands:
    """The command, in a workspace with a table."""
    (tmp_path / "headrace.yaml").write_text(WORKSPACE)
    workspace = load_workspace(tmp_path)
    catalog = open_catalog(workspace.catalog("lake"))
    make_table(catalog, "late", [[Stored(0, offset, 60.0 * offset) for offset in range(ROWS)]])
    return Commands(workspace, capsys)


def say(commands: Commands, complete: Completeness, writer: str = "late") -> None:
    table = load_table(commands.workspace, NAME)
    with table.transaction() as change:
        change.set_properties({completeness_property(writer): complete.to_json({0: ROWS})})


BEHIND = Completeness(NOON_US, (Ends(NOON_US + 1, {0: ROWS + 1}),))


def test_a_table_that_is_behind(commands: Commands, tmp_path: Path) -> None:
    say(commands, BEHIND)
    to = f"jsonl:{tmp_path}/out"
    with pytest.raises(NotComplete, match=rf"{NAME} is complete up to {NOON}") as raised:
        commands.replay(NAME, to)
    assert f"--end-ts {NOON}" in str(raised.value)
    assert "--up-to committed" in str(raised.value)
    with pytest.raises(NotComplete):
        Replay([NAME], "2026-03-01", "2026-03-02", workspace=tmp_path)

    plan = commands("plan", "--table", NAME, "--start-ts", "2026-03-01", "--end-ts", "2026-03-02")
    assert f"complete up to {NOON}, but the period ends later" in plan.out

    done = commands.replay(NAME, to, "--up-to", "committed")
    assert (done.code, done.json["rows"], done.json["beyond_complete"]) == (0, ROWS, True)
    assert done.json["sources"][0]["complete_up_to"] == NOON


def test_a_period_that_is_complete_has_nothing_to_say(commands: Commands, tmp_path: Path) -> None:
    say(commands, BEHIND)
    period = ("--start-ts", "2026-03-01", "--end-ts", NOON)
    table = ("--table", NAME, "--to", f"jsonl:{tmp_path}/out", "-o", "json")
    done = commands("replay", *table, *period)
    assert (done.code, done.json["rows"], done.json["beyond_complete"]) == (0, ROWS, False)


def test_what_has_come_since_the_writer_looked_is_not_known(
    commands: Commands, tmp_path: Path
) -> None:
    """It had all there was, and it may have died: the table cannot tell."""
    say(commands, Completeness(NOON_US))
    with pytest.raises(NotComplete, match=rf"complete up to {NOON}"):
        commands.replay(NAME, f"jsonl:{tmp_path}/out")


@pytest.mark.parametrize("complete", [BEHIND, Completeness(NOON_US), Completeness()])
def test_a_period_up_to_the_far_future_asks_for_all_there_is(
    complete: Completeness, commands: Commands, tmp_path: Path
) -> None:
    say(commands, complete)
    period = ("--start-ts", "2020-01-01", "--end-ts", "9000-01-01")
    table = ("--table", NAME, "--to", f"jsonl:{tmp_path}/out")
    done = commands("replay", *table, *period)
    assert done.code == 0
    upto = "no time yet" if complete.time_us is None else NOON
    assert f"was complete up to {upto}, but the period ends later" in done.out


def test_the_writer_that_is_least_far_counts(commands: Commands, tmp_path: Path) -> None:
    say(commands, Completeness(NOON_US * 2))
    say(commands, Completeness(None, BEHIND.pending), "another")
    with pytest.raises(NotComplete, match=r"complete up to no time yet"):
        commands.replay(NAME, f"jsonl:{tmp_path}/out")


def test_of_a_table_of_others_it_is_unknown(commands: Commands, tmp_path: Path) -> None:
    done = commands.replay(NAME, f"jsonl:{tmp_path}/out")
    (source,) = done.json["sources"]
    assert (done.code, source["complete_up_to"], source["beyond_complete"]) == (0, None, None)
    assert done.json["beyond_complete"] is None
    plan = commands("plan", "--table", NAME, "--start-ts", "2026-03-01", "--end-ts", "2026-03-02")
    assert "up to when it is complete is unknown" in plan.out
