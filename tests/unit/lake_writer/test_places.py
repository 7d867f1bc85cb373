"""Where a run begins: at the table's mark, as far as the topic still has it."""

from __future__ import annotations

import pytest

from lake_writer.places import OffsetsGone, TopicTooShort, gaps, starting_places

HELD = {0: range(5, 20), 1: range(3)}


def test_at_the_very_first_start_the_file_says_where() -> None:
    assert starting_places("t", {}, HELD, "earliest") == {0: 5, 1: 0}
    assert starting_places("t", {}, HELD, "latest") == {0: 20, 1: 3}


@pytest.mark.parametrize("otherwise", ["earliest", "latest"])
def test_then_the_table_does_and_new_partitions_are_read_whole(otherwise: str) -> None:
    assert starting_places("t", {0: 20}, HELD, otherwise) == {0: 20, 1: 0}


def test_what_retention_took_is_named() -> None:
    places = starting_places("t", {0: 2, 1: 1}, HELD, "earliest")
    assert places == {0: 2, 1: 1}
    lost = gaps(places, HELD)
    assert lost == {0: range(2, 5)}
    assert str(OffsetsGone("t", lost)).startswith(
        "the topic no longer has records that were to land next: t-0 @ 2 to 4 (3 records)\n"
    )


def test_a_topic_that_was_made_anew_is_told_from_the_old_one() -> None:
    said = "t-0 up to 30, where the topic ends at 20; t-7, a partition that is not there"
    with pytest.raises(TopicTooShort, match=said):
        starting_places("t", {0: 31, 7: 1}, HELD, "earliest")
