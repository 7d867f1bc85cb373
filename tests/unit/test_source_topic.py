"""Where a reader begins and goes on, as far as the topic still has it."""

from __future__ import annotations

import pytest

from headrace.kafka.leaders import TopicEnds
from headrace.kafka.source_topic import (
    OffsetsGone,
    Reader,
    TopicTooShort,
    TopicTruncated,
    gaps,
    require_not_shorter,
)

HELD = {0: range(5, 20), 1: range(3)}
READER = Reader("output a", "begin again", "or skip it")


def test_at_the_very_first_start_the_file_says_where() -> None:
    ends = TopicEnds(HELD, {})
    assert ends.starting_offsets("earliest") == {0: 5, 1: 0}
    assert ends.starting_offsets("latest") == {0: 20, 1: 3}


def test_what_retention_took_is_named() -> None:
    lost = gaps({0: 2, 1: 1}, HELD, {})
    assert lost == {0: range(2, 5)}
    assert str(OffsetsGone(READER, "t", lost)) == (
        "output a: the topic no longer has the records that had to be read next:"
        " t-0 @ 2 to 4 (3 records)\n"
        "  → retention or a deletion removed them before they were read; or skip it"
    )


def test_a_gap_ends_where_the_batch_does() -> None:
    assert gaps({0: 2, 1: 1}, HELD, {0: 4, 1: 3}) == {0: range(2, 4)}
    assert gaps({0: 2}, HELD, {0: 2}) == {}


def test_a_topic_that_was_re_created_is_told_from_the_old_one() -> None:
    said = "t-0 up to 30, but the partition ends at 20; t-7, but the topic has no such partition"
    with pytest.raises(TopicTooShort, match=said):
        require_not_shorter(READER, "t", {0: 31, 7: 1}, HELD)
    require_not_shorter(READER, "t", {0: 20, 1: 0}, HELD)


def test_replaced_offsets_are_told() -> None:
    error = TopicTruncated(READER, "t", {1: range(10, 15)})
    assert error.message == (
        "output a: the topic lost records that had already been read: t-1 was read up to 15,"
        " and from 10 on it holds other records now"
    )
