"""A plan as it is kept and shown."""

from __future__ import annotations

import json
from dataclasses import replace as changed
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from backfill.command.plan_report import as_json, as_text, lines_of
from backfill.command.planned import PlannedReplay
from backfill.command.progress import app_kind, remember, speeds_for
from backfill.plan.period import Period, duration
from backfill.plan.picture import as_svg, draw, drawable
from backfill.plan.plan import Plan, planned_source, read_head, read_plan
from backfill.plan.steps import Limits, Step, bounded
from backfill.plan.units import OffsetRange, Unit
from headrace.config.common.units import parse_duration
from headrace.errors import Terminal, UsageError
from headrace.times import format_time_us

if TYPE_CHECKING:
    from pathlib import Path

    from backfill.plan.plan import Order

MINUTE = 60_000_000
FILES = [
    Unit("lake.a.b", f"f-{n}.parquet", n * MINUTE, n * MINUTE + 5, 10, 1_000) for n in range(9)
]
SLICES = [
    Unit("lake.a.b", "wide.parquet", n * MINUTE, n * MINUTE, 1, 500, False, (0, 1), (n, n + 1))
    for n in range(3)
]


def a_plan(order: Order = "bounded") -> Plan:
    units = [*FILES, *SLICES]
    steps = tuple(bounded(units, MINUTE, Limits(1_000, 10**9)))
    source = planned_source("lake.a.b", 5, FILES, units, 7 * MINUTE)
    return Plan(Period(0, 10 * MINUTE), ("eu",), order, MINUTE, (source,), steps)


def test_a_kept_plan_is_read_as_it_was(tmp_path: Path) -> None:
    made = a_plan()
    ranges = (OffsetRange("lake.a.b", "t", 1, 5, 9),)
    made = Plan(
        made.period,
        made.regions,
        "strict",
        made.threshold_us,
        made.sources,
        (*made.steps, Step(99, 3, (FILES[0],), ranges)),
    )
    made.write(tmp_path / "plan.jsonl")
    assert read_plan(tmp_path / "plan.jsonl") == made
    assert read_head(tmp_path / "plan.jsonl").sources == made.sources


def test_it_says_what_is_read_twice_and_where() -> None:
    (source,) = a_plan().sources
    assert source.bytes_read_again == 1_000
    assert [(file.path, file.units, file.bytes_read_again) for file in source.worst] == [
        ("wide.parquet", 3, 1_000)
    ]
    text = as_text(PlannedReplay(a_plan()), {"jsonl": 93.0})
    assert "wide.parquet" in text
    assert "with --max-misalignment 7min, nothing would be read twice" in text
    assert "about 1 s to jsonl" in text


def test_where_there_is_nothing_no_figure_is_given() -> None:
    empty = Plan(Period(0, MINUTE), (), "bounded", 1, (), ())
    text = as_text(PlannedReplay(empty), {"jsonl": 93.0})
    assert text.splitlines()[-1] == "nothing to replay: no steps and no rows"
    assert "about" not in text


def test_an_estimate_goes_by_a_run_of_some_size_and_of_the_same_kind(tmp_path: Path) -> None:
    assert speeds_for(tmp_path, None) == {}
    remember(tmp_path, "jsonl", 13, 100.0)
    remember(tmp_path, "jsonl", 10**6, 0.1)
    assert speeds_for(tmp_path, None) == {}
    remember(tmp_path, "kafka", 100_000, 10.0)
    remember(tmp_path, app_kind("sums"), 20_000, 10.0)
    assert speeds_for(tmp_path, None) == {"kafka": 10_000.0}
    assert speeds_for(tmp_path, "sums") == {"app sums": 2_000.0}
    assert speeds_for(tmp_path, "others") == {}


def test_a_picture_has_a_bar_for_each_step() -> None:
    made = a_plan()
    assert as_svg(made).count("<title>") == len(made.steps) + len(made.sources)
    empty = Plan(made.period, (), "bounded", 1, (), ())
    assert "no rows" in as_svg(empty)


def test_a_picture_is_drawn_into_its_file(tmp_path: Path) -> None:
    made = a_plan()
    path = tmp_path / "plan.SVG"
    draw(made, drawable(path))
    assert path.read_text(encoding="utf-8") == as_svg(made)


def test_a_picture_of_very_many_tables_is_drawn(tmp_path: Path) -> None:
    units = [replace(FILES[0], source=f"lake.a.t{n}") for n in range(40)]
    sources = tuple(planned_source(unit.source, 5, [unit], [unit], 5) for unit in units)
    steps = tuple(bounded(units, MINUTE, Limits(1_000, 10**9)))
    made = Plan(Period(0, 10 * MINUTE), (), "bounded", MINUTE, sources, steps)
    draw(made, tmp_path / "plan.svg")
    assert as_svg(made).count("<title>") == 80


@pytest.mark.parametrize("name", ["plan.png", "plan", "missing/plan.svg"])
def test_a_picture_that_cannot_be_drawn_is_refused_at_once(tmp_path: Path, name: str) -> None:
    with pytest.raises(UsageError, match="--picture"):
        drawable(tmp_path / name)


@given(st.integers(0, 400 * 86_400 * 1_000_000))
def test_a_length_of_time_is_never_written_shorter_than_it_is(time_us: int) -> None:
    written = duration(time_us)
    read_us = parse_duration(written.replace(" ", "")) // timedelta(microseconds=1)
    assert time_us <= read_us <= max(time_us * 1.04 + 1_000, time_us + 1_000)
    assert len(written.split()) <= 2


def test_the_json_has_the_picture_and_why_a_replay_would_be_refused() -> None:
    made = a_plan()
    said = json.loads(as_json(PlannedReplay(made), {}))
    assert said["refused"] is None
    assert [one["step"] for one in said["picture"]] == [step.number for step in made.steps]
    assert sum(one["rows"] for one in said["picture"]) == made.rows
    assert said["picture"][0]["start"] == format_time_us(made.steps[0].frontier_us)
    refused = PlannedReplay(made, refused=Terminal("rows have no time", "give them one"))
    assert json.loads(as_json(refused, {}))["refused"] == {
        "message": "rows have no time",
        "advice": "give them one",
    }
    assert "a replay would be refused: rows have no time\n  give them one" in as_text(refused, {})


def test_a_picture_of_many_steps_has_some_lines() -> None:
    made = a_plan()
    step = made.steps[0]
    many = changed(made, steps=tuple(changed(step, number=n) for n in range(1_000)))
    lines = lines_of(many)
    assert (len(lines), lines[1].first, lines[0].steps) == (40, 25, 25)
    assert sum(one.rows for one in lines) == many.rows
    assert lines_of(changed(made, steps=())) == []
