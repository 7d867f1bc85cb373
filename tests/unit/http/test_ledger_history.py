"""The batches of a ledger on a stream's page: columns over time, and the newest as a table."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from hypothesis import given
from hypothesis import strategies as st

from headrace.http.detail_rows import LedgerBatch, LedgerHistory, LinkRow
from headrace.http.pages.charts import HEIGHT, MOST_COLUMNS, WIDTH, columns_of
from headrace.times import format_time_us
from tests.unit.http.pages_facts import Workspace
from tests.unit.http.test_pages import read

if TYPE_CHECKING:
    from collections.abc import Sequence

T0_US = 1_772_359_200_000_000


def batch(
    number: int, at_s: float, written: int = 1, filtered: int = 0, lost: int = 0
) -> LedgerBatch:
    at = format_time_us(T0_US + round(at_s * 1_000_000))
    return LedgerBatch(number, at, written + filtered, written, filtered, 0, 0, lost)


@dataclass
class Detailed(Workspace):
    batches: Sequence[LedgerBatch] = field(
        default_factory=lambda: [batch(n, n, 10, 5, 3 if n == 19 else 0) for n in range(20)]
    )
    is_cut: bool = False

    def history(self, stream: str) -> Sequence[LedgerHistory] | None:
        if stream != "plays":
            return None
        return [LedgerHistory("starts", self.batches, self.is_cut), LedgerHistory("all")]

    def links(self, kind: str, name: str) -> Sequence[LinkRow]:
        if (kind, name) != ("stream", "plays"):
            return ()
        return [LinkRow("Spark UI", "here", "http://127.0.0.1:4040")]


def test_the_newest_batches_come_first_and_lost_offsets_are_marked() -> None:
    found = read(Detailed(), "/streams/plays")
    rows = found.text.partition("Last batches")[2]
    assert "19 2026-03-01 10:00:19 15 10 5 0 0 3" in rows
    assert rows.index("10:00:19") < rows.index("10:00:18 ")
    assert "2026-03-01 10:00:11 15" not in rows.partition("Batch When")[2]
    assert "20 batches" in rows
    assert "10 written, 5 filtered, 3 lost" in rows
    assert ("a", "href", "http://127.0.0.1:4040") in found.attributes


def test_it_says_that_there_are_more_than_it_read() -> None:
    assert (
        "and more that the page does not read" in read(Detailed(is_cut=True), "/streams/plays").text
    )


def test_one_batch_is_a_table_without_a_picture() -> None:
    text = read(Detailed(batches=[batch(0, 0)]), "/streams/plays").text
    assert "1 batch" in text
    assert "a column for" not in text


def test_a_history_that_comes_later_has_its_place_on_the_page() -> None:
    assert read(Workspace(), "/streams/plays").ids == read(Detailed(), "/streams/plays").ids


def test_without_a_history_there_is_no_heading() -> None:
    assert "Last batches" not in read(Workspace(), "/streams/plays").text


@given(
    st.lists(
        st.tuples(st.floats(0, 10_000_000), st.integers(0, 10**9), st.integers(0, 10**9)),
        min_size=2,
        max_size=80,
    )
)
def test_columns_stay_in_their_picture_and_hold_every_record(
    given_batches: list[tuple[float, int, int]],
) -> None:
    batches = [
        batch(number, at_s, written, filtered)
        for number, (at_s, written, filtered) in enumerate(given_batches)
    ]
    drawn = columns_of(batches)
    assert drawn is not None
    assert len(drawn.columns) <= MOST_COLUMNS
    for column in drawn.columns:
        assert column.x >= 0
        assert column.x + column.width <= WIDTH
        heights = [height for _, _, height in column.parts]
        tops = [top for _, top, _ in column.parts]
        assert all(
            top >= 0 and top + height <= HEIGHT for top, height in zip(tops, heights, strict=True)
        )
        assert sum(heights) <= HEIGHT
    said = sum(
        int(one.replace(",", ""))
        for column in drawn.columns
        for one, _, what in (
            part.partition(" ") for part in column.about.partition(": ")[2].split(", ")
        )
        if what in {"written", "filtered"}
    )
    assert said == sum(one.read for one in batches)
