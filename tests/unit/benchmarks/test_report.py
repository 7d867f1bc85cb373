from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest

from benchmarks.model import Benchmark, Competitor, Failure, Omission, Sample
from benchmarks.report import Circumstances, as_json, as_markdown, write
from benchmarks.summary import summarize

if TYPE_CHECKING:
    from pathlib import Path

    from benchmarks.arena import Arena
    from benchmarks.model import Run


def prepare(_arena: Arena, _folder: Path) -> Run:
    raise NotImplementedError


CONTEST = Benchmark(
    name="sums",
    title="adding numbers",
    baseline="theirs",
    limit="wire",
    competitors=(
        Competitor("ours", "our way", "cold", prepare),
        Competitor("theirs", "their way", "warm", prepare),
        Competitor("wire", "no way", "cold", prepare),
    ),
    load=lambda _arena: 1000,
)
AROUND = Circumstances(
    started=datetime(2026, 3, 1, 12, 30, tzinfo=UTC),
    form="short form",
    rounds=2,
    events=1000,
    seed=1,
    value_bytes=220_000_000,
    interrupted=False,
    machine={"cpu": "C", "cores": 2, "memory_gib": 8, "kernel": "K", "load_average_1min": 0.1},
    versions={"python": "3.11"},
)


def sample(competitor: str, number: int, wall_s: float, work_s: float | None = None) -> Sample:
    return Sample(number, 0, competitor, 1000, wall_s, work_s, wall_s * 2, 0.0, 0.5, 0.1)


OUTCOMES = (
    sample("ours", 0, 4.0, 2.0),
    sample("theirs", 0, 2.0),
    sample("ours", 1, 9.0, 4.0),
    sample("theirs", 1, 3.0),
    Failure(0, 2, "wire", "rows: 7, not 1,000"),
)


def test_ratios_are_taken_within_a_round() -> None:
    ours = summarize(CONTEST, OUTCOMES)[0]
    assert ours.wall_ratio is not None
    found = (ours.wall_ratio.minimum, ours.wall_ratio.median, ours.wall_ratio.maximum)
    assert found == pytest.approx((2, 2.5, 3))


def test_ratios_are_per_row_and_count_the_broker() -> None:
    half = replace(sample("ours", 0, 4.0), rows=500, broker_cpu_s=1.0)
    ours = summarize(CONTEST, [half, sample("theirs", 0, 2.0)])[0]
    assert ours.wall_ratio is not None
    assert ours.cpu_ratio is not None
    assert ours.wall_ratio.median == pytest.approx(4)
    # (8 + 1) for 500 rows beside (4 + 0.5) for 1000
    assert ours.cpu_ratio.median == pytest.approx(4)


def test_work_that_one_side_does_not_tell_has_no_ratio() -> None:
    ours = summarize(CONTEST, OUTCOMES)[0]
    assert ours.work_s is not None
    assert ours.work_ratio is None


def test_the_table_shows_every_competitor_in_its_role() -> None:
    table = as_markdown(CONTEST, AROUND, OUTCOMES)
    rows = [line for line in table.splitlines() if line.startswith("|")]
    assert len({line.count("|") for line in rows}) == 1
    assert rows[2].startswith("| ours | cold | 6.50 | 3.00 | 13.00 |")
    assert rows[2].endswith("| 2.50 (2.00…3.00) | - | 2.37 (1.89…2.85) |")
    assert rows[3].startswith("| theirs (baseline) | warm |")
    assert rows[4].startswith("| *limit: wire* (1 failed) | cold | - |")


def test_a_failed_run_is_told_with_its_reason() -> None:
    assert "**Failed**: wire, round 1: rows: 7, not 1,000" in as_markdown(CONTEST, AROUND, OUTCOMES)


def test_the_json_holds_every_run() -> None:
    whole = json.loads(as_json(CONTEST, AROUND, OUTCOMES))
    assert len(whole["samples"]) == 4
    assert len(whole["failures"]) == 1
    assert whole["started"] == "2026-03-01T12:30:00+00:00"
    assert whole["machine"]["cores"] == 2


def test_both_forms_lie_beside_each_other(tmp_path: Path) -> None:
    path, markdown = write(tmp_path / "results", CONTEST, AROUND, OUTCOMES)
    assert path.name == "sums-20260301T123000Z.json"
    assert path.with_suffix(".md").read_text(encoding="utf-8") == markdown


def test_what_there_is_to_tell_beside_the_times_stands_under_the_table() -> None:
    told = [
        replace(sample("ours", number, 4.0), facts={"matches": float(matches), "dropped": 0.0})
        for number, matches in enumerate((1_000, 3_000, 9_000))
    ]
    lines = as_markdown(CONTEST, AROUND, [*told, sample("theirs", 0, 2.0)]).splitlines()
    assert "- ours: matches 3,000, dropped 0" in lines
    assert not any(line.startswith("- theirs") for line in lines)


def test_where_no_topic_was_read_nothing_is_said_of_its_size() -> None:
    around = replace(AROUND, value_bytes=0)
    assert "1,000 events, " in as_markdown(CONTEST, around, OUTCOMES)


def test_like_is_compared_with_like_in_a_table_of_its_own() -> None:
    paired = replace(CONTEST, pairs=(("ours", "wire"), ("ours", "theirs")))
    lines = as_markdown(paired, AROUND, OUTCOMES).splitlines()
    assert "| ours ÷ theirs | 2.50 (2.00…3.00) | 2.37 (1.89…2.85) | - | - |" in lines
    # Whom nobody measured is not compared with.
    assert not any(line.startswith("| ours ÷ wire") for line in lines)
    assert "like with like" not in as_markdown(CONTEST, AROUND, OUTCOMES)


def test_work_is_that_of_the_rows_behind_the_first_output() -> None:
    ours = replace(
        sample("ours", 0, 4.0, 2.0), work_rows=900, work_cpu_s=2.5, work_broker_cpu_s=0.5
    )
    line = summarize(CONTEST, [ours])[0]
    assert line.rows_per_work_s is not None
    assert line.rows_per_work_s.median == pytest.approx(450)
    assert line.rows_per_work_cpu_s is not None
    assert line.rows_per_work_cpu_s.median == pytest.approx(300)


def test_who_was_left_out_is_named_once() -> None:
    absent = [Omission(number, 0, "wire", "no wire is here") for number in range(2)]
    table = as_markdown(CONTEST, AROUND, [*OUTCOMES, *absent])
    assert table.count("**Left out**: wire: no wire is here") == 1
