"""The page of a lake table: what it says of costs, commits, files, maintenance and held snapshots."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import pytest

from headrace.http.detail_rows import LinkRow
from headrace.http.pages.charts import size_bars, span_bars
from headrace.http.pages.formats import UNKNOWN
from headrace.http.table_rows import (
    CommitRow,
    CostRow,
    FileGroup,
    FileRows,
    MaintenanceRow,
    RefRow,
    TableDetail,
)
from tests.unit.http.pages_facts import SCRIPT, Workspace, served
from tests.unit.http.test_pages import Reader, read

if TYPE_CHECKING:
    from collections.abc import Sequence

MINUS = "\N{MINUS SIGN}"
AT = "2026-03-01T12:00:00.000000Z"
COST = CostRow(62, 1_000, 500, 201.0, 213.0, 12_462, 12.462, 3, "EUR", 0.0037, 0.25)
FILES = FileRows(
    10,
    62,
    1_000,
    [FileGroup(1024, 9, 900), FileGroup(None, 1, 100)],
    [FileGroup(900, 5, 500), FileGroup(None, 4, 400)],
    small=9,
    small_below=768,
    wide=4,
    wide_bytes=400,
    threshold_s=900,
    without_bounds=1,
    first=AT,
    last=AT,
)
DETAIL = TableDetail(
    AT,
    exists=True,
    commits=[
        CommitRow(2, AT, "replace", "spark", 40, 40, 1, 5, 300),
        CommitRow(1, AT, "append", f"lake writer {SCRIPT}", 62, None, 2, None, 900, 1.5),
    ],
    snapshots=12,
    files=FILES,
    maintenance=MaintenanceRow([AT], 9, 3, 2, 2),
    refs=[
        RefRow("headrace-replay-replay-1", "tag", 1, AT, "replay", "replay-1"),
        RefRow("headrace-replay-far", "tag", 1, AT, "replay", "far"),
        RefRow("audit", "branch", 1, None),
    ],
    cost=COST,
)


@dataclass
class Detailed(Workspace):
    detail: TableDetail | None = DETAIL
    further: Sequence[LinkRow] = field(
        default_factory=lambda: [LinkRow("topic", "consumer/t", "https://ui.example/t?a=1&b=2")]
    )

    def table(self, name: str) -> TableDetail | None:
        return self.detail if name == "starts" else None

    def links(self, kind: str, name: str) -> Sequence[LinkRow]:
        return self.further if (kind, name) == ("lake_table", "starts") else ()


def shown(**changes: object) -> str:
    return read(Detailed(detail=replace(DETAIL, **changes)), "/tables/starts").text  # type: ignore[arg-type]  # the tests' own


def test_the_headline_is_of_this_table_and_says_how_it_was_measured() -> None:
    text = shown()
    assert "12.5 times fewer bytes in the lake than one copy" in text
    assert "37.4 times fewer than its 3 copies" in text
    assert "measured on the 500 oldest records" in text
    assert "(213 B each unpacked)" in text
    assert "Kafka 201.0 B 12.2 KiB 3 36.5 KiB 0.0037 EUR" in text
    assert "Lake 16.1 B 1,000 B 1 1,000 B 0.25 EUR" in text


def test_without_prices_it_shows_bytes_and_says_how_to_get_the_money() -> None:
    text = shown(cost=replace(COST, currency=None, kafka_cost=None, lake_cost=None))
    assert f"Kafka 201.0 B 12.2 KiB 3 36.5 KiB {UNKNOWN}" in text
    assert "prices: {kafka_gb_month:" in text
    assert "prices:" not in shown()


def test_what_is_not_known_of_kafka_has_its_reason() -> None:
    text = shown(cost=CostRow(62, 1_000, unknown="no broker answers"))
    assert "The lake takes 1,000 B for 62 rows" in text
    assert "in Kafka is not known: no broker answers." in text
    assert "times" not in text.partition("What it costs")[2].partition("Last commits")[0]


def test_a_table_of_small_files_takes_more_than_kafka_and_says_why() -> None:
    text = shown(cost=replace(COST, times_smaller=0.5))
    assert "2.0 times the bytes of one copy in Kafka" in text


def test_commits_name_who_made_them_and_how_long_a_batch_took() -> None:
    text = shown()
    assert f"append lake writer {SCRIPT} +62 +2 900 B 2 s" in text
    assert f"replace spark +40 {MINUS}40 +1 {MINUS}5 300 B {UNKNOWN}" in text
    assert "12 snapshots in the history" in text
    empty = shown(commits=[], snapshots=0)
    assert "Nothing was committed yet" in empty


def test_bars_read_without_colour() -> None:
    found = read(Detailed(), "/tables/starts")
    assert "up to 1.0 KiB 9 900 B" in found.text
    assert "over 1.0 KiB 1 100 B" in found.text
    assert "▲ over 15 min 4 400 B" in found.text
    assert "4 of 10 files (400 B) hold more than 15 min" in found.text
    assert "1 file without bounds" in found.text
    widths = [value for tag, name, value in found.attributes if (tag, name) == ("rect", "width")]
    assert widths == ["100", "11", "100", "80"]


def test_a_group_with_one_file_has_a_bar_beside_one_with_many() -> None:
    groups = [FileGroup(10, 1, 1), FileGroup(None, 100_000, 1), FileGroup(None, 0, 0)]
    assert [one.width for one in size_bars(groups)] == [1, 100, 0]


def test_a_group_is_wide_from_the_threshold_on() -> None:
    groups = [FileGroup(60, 1, 1), FileGroup(900, 1, 1), FileGroup(None, 1, 1)]
    assert [one.is_wide for one in span_bars(groups, 900)] == [False, False, True]
    assert [one.is_wide for one in span_bars(groups, 60)] == [False, True, True]


def test_what_maintenance_would_do_now() -> None:
    text = shown()
    assert "lake-writer maintain -c tables/starts.yaml would now do this" in text
    assert "compact 2 hours with 9 small files: 2026-03-01 12:00:00 and 1 more" in text
    assert "expire 3 of 12 snapshots" in text
    nothing = shown(maintenance=MaintenanceRow([], 0, 0, 1, 0))
    assert "✓ Nothing to compact, and nothing to expire." in nothing
    never = shown(maintenance=MaintenanceRow([], 0, None, 1, 0))
    assert "gc.enabled is false" in never


def test_held_snapshots_lead_to_their_replays() -> None:
    found = read(Detailed(), "/tables/starts")
    assert ("a", "href", "/replays/replay-1") in found.attributes
    assert "replay far not of this host" in found.text
    assert f"branch of others {UNKNOWN} audit" in found.text
    assert "No replay and no application holds a snapshot" in shown(refs=[])


def test_a_table_that_is_not_there_yet_says_what_to_do_first() -> None:
    text = shown(exists=False)
    assert "lake-writer start -c tables/starts.yaml" in text
    assert "What it costs" not in text


def test_a_catalog_that_is_away_is_named_and_the_rest_of_the_page_stays() -> None:
    text = shown(problem="catalog lake (sql) could not be opened: OperationalError")
    assert "catalog lake (sql) could not be opened" in text
    assert "Complete until" in text
    assert "Files" not in text.partition("Small")[0].partition("Last commit")[2]


def test_what_comes_later_has_its_place_on_the_page() -> None:
    """Only elements that are there can be swapped."""
    facts = Detailed(detail=None)
    with served(facts) as one:
        before = Reader(one.ask("/tables/starts").body)
        facts.detail = DETAIL
        after = Reader(one.ask("/tables/starts").body)
    assert after.ids == before.ids
    assert "What it costs" not in before.text
    assert "What it costs" in after.text


def test_the_twin_has_the_same_and_links_are_kept_whole() -> None:
    with served(Detailed()) as one:
        page = one.ask("/tables/starts")
        twin = json.loads(one.ask("/tables/starts.json").body)
    assert twin["detail"]["cost"]["times_smaller"] == pytest.approx(12.462)
    assert twin["detail"]["files"]["by_size"][0] == {"up_to": 1024, "files": 9, "bytes": 900}
    assert twin["detail"]["commits"][1]["duration_s"] == pytest.approx(1.5)
    assert twin["links"] == [
        {"what": "topic", "name": "consumer/t", "url": "https://ui.example/t?a=1&b=2"}
    ]
    found = Reader(page.body)
    assert found.unbalanced == []
    assert len(found.ids) == len(set(found.ids))
    assert ("a", "href", "https://ui.example/t?a=1&b=2") in found.attributes
    assert SCRIPT not in page.body
