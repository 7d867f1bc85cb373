"""The end of all time: a last step that holds no units, and a watermark beyond all windows."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from backfill.apps.spark_task import END_MS
from backfill.apps.stages import WATERMARK, let_all_windows_end, move_to_live
from backfill.plan.period import parse_period
from backfill.plan.plan import Plan, read_plan, span_us
from backfill.plan.steps import Step
from backfill.plan.units import Unit
from backfill.run.options import require_watermarks
from headrace.errors import Terminal, UsageError

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def checkpoint(tmp_path: Path) -> Path:
    """As Spark leaves it after two batches."""
    (tmp_path / "commits").mkdir()
    (tmp_path / "offsets").mkdir()
    for batch in range(2):
        (tmp_path / "commits" / str(batch)).write_text('v1\n{"nextBatchWatermarkMs":17,"more":[1]}')
        (tmp_path / "commits" / f".{batch}.crc").write_bytes(b"crc")
        (tmp_path / "offsets" / str(batch)).write_text(f'v1\n{{}}\n{{"step":{batch + 1}}}')
    return tmp_path


def test_the_last_commit_says_that_all_time_is_over(checkpoint: Path) -> None:
    for _ in range(2):
        let_all_windows_end(checkpoint)
        version, said = (checkpoint / "commits" / "1").read_text().split("\n")
        assert (version, json.loads(said)) == ("v1", {WATERMARK: END_MS, "more": [1]})
    assert (
        (checkpoint / "commits" / "0")
        .read_text()
        .endswith('{"nextBatchWatermarkMs":17,"more":[1]}')
    )
    assert {one.name for one in (checkpoint / "commits").iterdir()} == {"0", ".0.crc", "1"}


def test_or_it_moves_to_where_it_is_live_and_no_further_when_done_again(checkpoint: Path) -> None:
    query = checkpoint / "checkpoint"
    query.mkdir()
    for name in ("commits", "offsets"):
        (checkpoint / name).rename(query / name)
    for _ in range(2):
        move_to_live(query, 5)
        said = (query / "commits" / "1").read_text().split("\n")[1]
        assert json.loads(said) == {WATERMARK: 22, "more": [1]}


@pytest.mark.parametrize("text", ["", "v1\n", "v2\n{}", "v1\n{}", "v1\n[1]"])
def test_a_log_of_another_kind_is_left_as_it_is(checkpoint: Path, text: str) -> None:
    (checkpoint / "commits" / "1").write_text(text)
    with pytest.raises(Terminal, match="has no watermark"):
        let_all_windows_end(checkpoint)
    assert (checkpoint / "commits" / "1").read_text() == text


def test_it_is_a_step_of_the_plan_that_is_kept(tmp_path: Path) -> None:
    unit = Unit("lake.a.b", "file", 5, 9, 3, 100)
    period = parse_period("2026-03-01", "2026-03-02")
    plan = Plan(period, (), "bounded", 10, (), (Step(0, 5, (unit,)),))
    assert not plan.closes
    closing = plan.ending(closes=True)
    closing.write(tmp_path / "plan")
    kept = read_plan(tmp_path / "plan")
    assert kept == closing
    assert kept.closes
    assert (len(kept.steps), kept.rows, kept.steps[-1].number) == (2, plan.rows, 1)
    assert (plan.steps_with_records, kept.steps_with_records) == (1, 1)
    assert span_us(kept.steps[-1]) == 0
    assert kept.state_window_us == plan.state_window_us
    empty = replace(plan, steps=())
    assert empty.ending(closes=True) == empty
    assert not plan.ending(closes=False).closes
    assert plan.ending(closes=False).has_end


def test_windows_of_no_application_are_not_closed() -> None:
    with pytest.raises(UsageError, match="close needs watermarks"):
        require_watermarks(None)
