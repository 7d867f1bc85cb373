from __future__ import annotations

from typing import TYPE_CHECKING

from backfill.results.runs import runs_of
from backfill.results.sweep import (
    SweepResult,
    cheapest,
    forget_killed,
    report_facts,
    report_text,
)
from backfill.run.request import new_run_id, state_of
from headrace.config.load import load_workspace

if TYPE_CHECKING:
    from pathlib import Path

MINUTE_US = 60_000_000


def tried(minutes: int, took_s: float, *, match: float = 100.0, dropped: int = 0) -> SweepResult:
    return SweepResult(minutes * MINUTE_US, took_s, 10, 0, MINUTE_US, dropped, match)


def test_the_cheapest_is_the_fastest_of_those_that_are_safe() -> None:
    slow, fast = tried(1, 50.0), tried(15, 20.0)
    lossy, other = tried(60, 5.0, dropped=1), tried(30, 6.0, match=99.8)
    assert cheapest([slow, lossy, fast, other], 99.9) is fast
    assert cheapest([slow, lossy, fast, other], 99.0) is other
    assert cheapest([lossy], 0) is None
    assert cheapest([tried(5, 20.0), fast], 100) == tried(5, 20.0)


def test_the_table_marks_it_or_says_that_there_is_none() -> None:
    text = report_text([tried(1, 50.0), tried(15, 20.0)], 99.9)
    assert text.splitlines()[2].endswith("← cheapest safe")
    assert report_text([tried(1, 1.0, match=50.0)], 99.9).endswith("99.9 % are required")
    said = report_facts([tried(1, 50.0, match=50.0), tried(15, 20.0)], 99.9)
    assert said["cheapest_safe_us"] == 15 * MINUTE_US
    assert [one["safe"] for one in said["tried"]] == [False, True]


def test_what_a_killed_sweep_has_left_is_not_a_run_that_is_called_so(tmp_path: Path) -> None:
    (tmp_path / "headrace.yaml").write_text('clusters: {c: {bootstrap_servers: "127.0.0.1:1"}}')
    workspace = load_workspace(tmp_path)
    others = {"sweep-of-march", "sweep-20260301", new_run_id()}
    for name in (*others, new_run_id("sweep")):
        # Begun, and not yet on record.
        state_of(workspace, name).folder.mkdir(parents=True)
    forget_killed(workspace)
    folder = workspace.state_dir / "backfill"
    assert {one.name for one in folder.iterdir()} == others
    assert runs_of(workspace) == []
