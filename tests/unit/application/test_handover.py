"""Where a hybrid source goes on, and which gaps it refuses."""

from __future__ import annotations

import pytest

from headrace.errors import Terminal
from headrace.landing.marks import Identity, Mark, Span
from stream_app.hybrid_plan import gaps, mark_of


def mark(writer: str, topic: str, **nexts: int) -> Mark:
    identity = Identity(writer, topic, "host", 1, "2026-03-01T00:00:00.000Z")
    spans = {int(number[1:]): Span(0, 0, at) for number, at in nexts.items()}
    return Mark(identity, 1, spans)


def test_the_writer_of_the_topic_is_asked() -> None:
    marks = [mark("a", "t", p0=5, p1=7), mark("b", "other", p0=1)]
    assert mark_of(marks, "t", "lake.tv.t").next_offsets == {0: 5, 1: 7}


@pytest.mark.parametrize(
    ("marks", "sentence"),
    [
        ([], "no lake writer says what lake.tv.t has of topic t"),
        ([mark("b", "other")], "no lake writer says"),
        ([mark("a", "t"), mark("b", "t")], "a, b says"),
    ],
)
def test_a_table_that_does_not_tell_is_refused(marks: list[Mark], sentence: str) -> None:
    with pytest.raises(Terminal, match=sentence):
        mark_of(marks, "t", "lake.tv.t")


@pytest.mark.parametrize(
    ("at", "held", "told"),
    [
        ({0: 5}, {0: range(9)}, []),
        ({0: 5}, {0: range(5, 5)}, []),
        ({0: 5}, {0: range(6, 9)}, ["t-0 @ 5 to 5"]),
        ({0: 5}, {0: range(4)}, ["t-0 ends at 4, before the table does (5)"]),
        # A partition that is new since the writer's last commit.
        ({0: 5}, {0: range(9), 1: range(3)}, []),
        ({0: 5}, {0: range(9), 1: range(2, 3)}, ["t-1 @ 0 to 1"]),
    ],
)
def test_gaps(at: dict[int, int], held: dict[int, range], told: list[str]) -> None:
    assert gaps(at, held, "t") == told
