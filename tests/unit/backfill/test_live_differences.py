"""What a plan says of where its replay may differ from live, and where the documentation has it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from backfill.apps.live_differences import KINDS, WHAT_TO_DO, LiveDifference
from backfill.command.plan_report import as_json, as_text
from backfill.command.planned import PlannedReplay
from backfill.plan.period import parse_period
from backfill.plan.plan import Plan

PAGE = Path(__file__).parents[3] / "docs" / "replay-differences.md"
PLAN = Plan(parse_period("2026-03-01", "2026-03-02"), (), "bounded", 1, (), ())
FOUND = [
    LiveDifference("join", "INNER JOIN ON a = b"),
    LiveDifference("random", "rand(1)"),
    LiveDifference("random", "uuid()"),
]


@pytest.mark.parametrize("kind", KINDS)
def test_the_page_has_every_kind(kind: str) -> None:
    assert f"`{kind}`" in PAGE.read_text(encoding="utf-8")


def test_a_plan_gives_each_advice_once() -> None:
    text = as_text(PlannedReplay(PLAN, differences=FOUND), {})
    assert "may differ from live, join: INNER JOIN ON a = b" in text
    assert "may differ from live, random: rand(1)\nmay differ from live, random: uuid()\n" in text
    assert text.count(WHAT_TO_DO["random"]) == 1
    said = json.loads(as_json(PlannedReplay(PLAN, differences=FOUND), {}))["differs_from_live"]
    assert [one["kind"] for one in said] == ["join", "random", "random"]
    assert said[0] == {
        "kind": "join",
        "where": "INNER JOIN ON a = b",
        "what_to_do": WHAT_TO_DO["join"],
    }
