"""Errors come back from tasks as what they are."""

from __future__ import annotations

import pickle

import pytest

from headrace.errors import BadConfig, ClusterUnreachable, HeadraceError, Terminal, TopicMissing
from headrace.kafka.ranges import NotReached, RecordsGone
from headrace.kafka.source_topic import Reader, TopicTruncated


@pytest.mark.parametrize(
    "error",
    [
        Terminal("it is so", "do that"),
        TopicMissing("t", "c", ["a", "b"]),
        ClusterUnreachable("c", "127.0.0.1:1", "away"),
        RecordsGone("t", 3),
        NotReached("t", {0: range(5, 9)}, {0: 7}),
        TopicTruncated(Reader("output a", "do that"), "t", {0: range(5, 9)}),
        BadConfig([]),
    ],
    ids=lambda error: type(error).__name__,
)
def test_an_error_of_a_task_keeps_its_kind_and_its_facts(error: HeadraceError) -> None:
    back = pickle.loads(pickle.dumps(error))  # noqa: S301 - our own, as Spark does it
    assert type(back) is type(error)
    assert (str(back), vars(back)) == (str(error), vars(error))


def test_what_is_missing_of_a_range_is_told() -> None:
    error = NotReached("t", {0: range(5, 9), 1: range(2, 3)}, {0: 7})
    assert error.message == (
        "no records came within 45 s, though the topic had them: t-0 @ 5 to 8 (it ends at 7);"
        " t-1 @ 2 to 2"
    )
