"""What a table holds over time: the rows of files, spread over their times; and the gaps between."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from backfill.read.over_time import (
    EACH_US,
    MOST_GAPS,
    MOST_SPANS,
    FileSpan,
    gaps_between,
    spread,
)

MINUTE = 60_000_000
HOUR = 60 * MINUTE


def test_rows_stand_where_their_files_are() -> None:
    found = spread([FileSpan(0, 2 * MINUTE - 1, 10), FileSpan(5 * MINUTE, 5 * MINUTE, 3)])
    assert (found.start_us, found.each_us) == (0, MINUTE)
    assert list(found.counts) == [5, 5, 0, 0, 0, 3]
    assert list(found.gaps) == [(2 * MINUTE - 1, 5 * MINUTE)]
    assert (found.rows, found.files) == (13, 2)


def test_nothing_is_known_of_an_empty_table() -> None:
    found = spread([])
    assert (found.rows, found.counts, found.gaps, found.first_us) == (0, (), (), None)


def test_a_single_row_is_seen_in_a_long_time() -> None:
    found = spread([FileSpan(0, 0, 1), FileSpan(900 * 24 * HOUR, 900 * 24 * HOUR, 10**9)])
    assert found.counts[0] == 1
    assert len(found.counts) <= MOST_SPANS


def test_gaps_are_the_longest_in_their_order() -> None:
    spans = [FileSpan(n * HOUR, n * HOUR + n * MINUTE, 1) for n in range(30)]
    gaps = gaps_between(reversed(spans), MINUTE)
    assert len(gaps) == MOST_GAPS
    assert gaps[0] == (0, HOUR)
    assert gaps == sorted(gaps)
    # One file goes over all of them.
    assert gaps_between([FileSpan(0, 40 * HOUR, 1), *spans], MINUTE) == []


@given(
    st.lists(
        st.tuples(st.integers(0, 10**15), st.integers(0, 10**13), st.integers(0, 10**6)),
        min_size=1,
        max_size=50,
    )
)
def test_no_row_is_lost(files: list[tuple[int, int, int]]) -> None:
    spans = [FileSpan(first, first + width, rows) for first, width, rows in files]
    found = spread(spans)
    assert found.rows == sum(rows for _, _, rows in files)
    assert found.each_us in EACH_US
    assert len(found.counts) <= MOST_SPANS
    # Each span is rounded, and one with less than half a row has one.
    assert abs(sum(found.counts) - found.rows) <= len(found.counts)
    assert found.start_us <= min(first for first, _, _ in files)
