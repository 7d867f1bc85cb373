"""The page of an application: positions, state, late records, lookups, and batches to rewind to."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace

from headrace.http.app_rows import (
    AppDetail,
    BatchRow,
    LookupRow,
    PositionRow,
    RewindRow,
    StateRow,
)
from headrace.http.pages.formats import UNKNOWN
from tests.unit.http.pages_facts import SCRIPT, Workspace, served
from tests.unit.http.test_pages import Reader, read

AT = "2026-03-01T12:00:00.000000Z"
DETAIL = AppDetail(
    started=AT,
    at=AT,
    watermark="2026-03-01T11:50:00.000000Z",
    rows=1_234,
    batches=[BatchRow(7, AT, 100, 2.0, AT)],
    state=[StateRow("stateStoreSave", 1_500, 2_097_152, 3), StateRow("dedupe", 10, 1_024)],
    dropped_late=5,
    ahead=2,
    rejected={"quarantined": 4},
    positions=[PositionRow("starts", "live-starts", f"plays 0:17 {SCRIPT}")],
    lookups=[LookupRow("titles", "lake.tv.titles", "replayed")],
    rewinds=[
        RewindRow(7, AT, "plays 0:17"),
        RewindRow(1, AT, "plays 0:1", "batch 0, at whose end it begins, is gone"),
    ],
    rewinds_kept=100,
)


@dataclass
class Detailed(Workspace):
    detail: AppDetail | None = DETAIL

    def app(self, name: str) -> AppDetail | None:
        return self.detail if name == "rmi" else None


def shown(**changes: object) -> str:
    return read(Detailed(detail=replace(DETAIL, **changes)), "/apps/rmi").text  # type: ignore[arg-type]  # the tests' own


def test_state_and_late_and_ahead_records_have_units() -> None:
    text = shown()
    assert "State 1,510 rows, 2.0 MiB of memory" in text
    assert "Dropped as late 5 records since 2026-03-01 12:00:00" in text
    assert "Ahead of time 2 records, in all its runs" in text
    assert "stateStoreSave 1,500 2.0 MiB 3" in text
    assert "Rejected in all its runs: 4 quarantined" in text
    assert "As after its last batch on this host, at 2026-03-01 12:00:00" in text
    assert "at least 5 records" in shown(is_late_exact=False)


def test_a_source_has_its_position_and_the_candidate_that_it_is_of() -> None:
    text = shown()
    assert f"plays 0:17 {SCRIPT}" in text
    assert "of live-starts" not in text
    other = shown(positions=[PositionRow("starts", "past-starts", "lake.tv.starts 2026")])
    assert "lake.tv.starts 2026 of past-starts" in other


def test_batches_and_the_ways_back() -> None:
    text = shown()
    assert "7 2026-03-01 12:00:00 2 s 100 50 2026-03-01 12:00:00" in text
    assert "Batches to rewind to 100 kept" in text
    assert "✗ batch 0, at whose end it begins, is gone" in text
    assert "headrace rewind -c apps/rmi.yaml" in text


def test_lookups_say_as_of_when() -> None:
    assert "titles iceberg lake.tv.titles each batch when the records arrived" in shown()
    fixed = shown(lookups=[LookupRow("titles", "lake.tv.titles", AT)])
    assert f"titles iceberg lake.tv.titles {AT} {AT}" in fixed


def test_what_is_not_known_says_why_and_what_to_do_first() -> None:
    facts = Detailed(detail=AppDetail(unknown=["this host keeps nothing of its batches"]))
    text = read(facts, "/apps/rmi").text
    assert "Not known: this host keeps nothing of its batches." in text
    assert "headrace run -c apps/rmi.yaml --once" in text
    assert f"Dropped as late {UNKNOWN} " in text
    replayed = read(Detailed(detail=AppDetail(is_replayed=True)), "/apps/rmi").text
    assert "backfill replay -c apps/rmi.yaml" in replayed
    assert "--once" not in replayed


def test_what_comes_later_has_its_place_on_the_page() -> None:
    facts = Detailed(detail=None)
    with served(facts) as one:
        before = Reader(one.ask("/apps/rmi").body).ids
        facts.detail = DETAIL
        assert Reader(one.ask("/apps/rmi").body).ids == before


def test_the_twin_has_the_same() -> None:
    with served(Detailed()) as one:
        twin = json.loads(one.ask("/apps/rmi.json").body)["detail"]
        page = one.ask("/apps/rmi").body
    assert (twin["rows"], twin["ahead"], twin["rewinds"][1]["batch"]) == (1_234, 2, 1)
    assert Reader(page).unbalanced == []
    assert SCRIPT not in page
