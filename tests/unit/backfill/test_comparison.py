from __future__ import annotations

import json

import pytest

from backfill.results.comparison import Comparison, Example, MismatchKind, Side, shown_percent
from backfill.run.options import parse_compared_period, parse_percent
from headrace.errors import UsageError


def comparison(matched: int, **kinds: int) -> Comparison:
    return Comparison(
        Side("lake.a.live", matched, 0),
        Side("lake.a.again", matched, 2),
        matched,
        {MismatchKind(name): count for name, count in kinds.items()},
        {"events": kinds["differing"]} if "differing" in kinds else {},
        (Example(MismatchKind.MISSING, {"user": "u"}, {"events": 3}, None),) if kinds else (),
    )


def test_a_pair_counts_once_and_so_does_a_row_without_a_partner() -> None:
    found = comparison(997, missing=1, differing=1, boundary=1)
    assert found.counted == 1000
    assert found.match_percent == pytest.approx(99.7)
    assert found.match_percent_inside == pytest.approx(100 * 997 / 999)
    assert found.is_at_least(99.7)
    assert not found.is_at_least(99.8)


def test_nothing_on_either_side_is_no_match() -> None:
    assert not comparison(0).is_at_least(0)


@pytest.mark.parametrize(
    ("percent", "shown"), [(100.0, "100.0000 %"), (99.999999, "99.9999 %"), (0.0, "0.0000 %")]
)
def test_a_percentage_is_never_shown_as_more_than_it_is(percent: float, shown: str) -> None:
    assert shown_percent(percent) == shown


def test_the_report_names_kinds_columns_and_examples() -> None:
    text = comparison(8, missing=1, differing=1).to_text(99.9)
    assert "match 80.0000 %: 8 of 10" in text
    assert "columns that differ: events 1" in text
    assert 'missing user="u"' in text
    assert "left  events=3" in text
    assert "2 keys more than once" in text
    assert text.endswith("less than the required 99.9 %")


def test_the_report_for_machines_has_every_kind() -> None:
    said = json.loads(comparison(10, extra=1).to_json(90))
    assert said["passed"] is True
    assert said["mismatches"] == {
        "missing": 0,
        "extra": 1,
        "differing": 0,
        "repeated": 0,
        "boundary": 0,
        "late": 0,
    }
    assert said["examples"][0]["key"] == {"user": "u"}


@pytest.mark.parametrize("text", ["", "much", "-1", "100.1", "nan"])
def test_what_is_no_percentage_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="not a percentage"):
        parse_percent(text)


def test_a_period_needs_a_column_and_both_ends() -> None:
    assert parse_percent("99.9%") == 99.9
    assert parse_compared_period("at", None, None, "1h") == (None, 0)
    with pytest.raises(UsageError, match="needs the time column"):
        parse_compared_period(None, "2026-03-01", None, "1h")
    with pytest.raises(UsageError, match="a start and an end"):
        parse_compared_period("at", "2026-03-01", None, "1h")
    with pytest.raises(UsageError, match="--boundary soon"):
        parse_compared_period("at", "2026-03-01", "2026-03-02", "soon")
    period, near_us = parse_compared_period("at", "2026-03-01", "2026-03-02", "2min")
    assert period is not None
    assert near_us == 120_000_000
