"""Where a hybrid source goes on, and which gaps it refuses."""

from __future__ import annotations

import pytest

from headrace.errors import Terminal
from headrace.landing.commit_state import CommitState, Identity, Span
from stream_app.hybrid import commit_state_of, gaps


def state(writer: str, topic: str, **nexts: int) -> CommitState:
    identity = Identity(writer, topic, "host", 1, "2026-03-01T00:00:00.000Z")
    spans = {int(number[1:]): Span(0, 0, at) for number, at in nexts.items()}
    return CommitState(identity, 1, spans)


def test_the_writer_of_the_topic_is_asked() -> None:
    states = [state("a", "t", p0=5, p1=7), state("b", "other", p0=1)]
    assert commit_state_of(states, "t", "lake.tv.t").next_offsets == {0: 5, 1: 7}


@pytest.mark.parametrize(
    ("states", "sentence"),
    [
        ([], "no lake writer landed topic t in lake.tv.t"),
        ([state("b", "other")], "no lake writer landed"),
        ([state("a", "t"), state("b", "t")], "a, b landed"),
    ],
)
def test_a_table_that_does_not_tell_is_refused(states: list[CommitState], sentence: str) -> None:
    with pytest.raises(Terminal, match=sentence):
        commit_state_of(states, "t", "lake.tv.t")


@pytest.mark.parametrize(
    ("at", "held", "told"),
    [
        ({0: 5}, {0: range(9)}, []),
        ({0: 5}, {0: range(5, 5)}, []),
        ({0: 5}, {0: range(6, 9)}, ["t-0 @ 5 to 5"]),
        ({0: 5}, {0: range(4)}, ["t-0 ends at 4, but the table has it up to 5"]),
        # A partition that is new since the writer's last commit.
        ({0: 5}, {0: range(9), 1: range(3)}, []),
        ({0: 5}, {0: range(9), 1: range(2, 3)}, ["t-1 @ 0 to 1"]),
    ],
)
def test_gaps(at: dict[int, int], held: dict[int, range], told: list[str]) -> None:
    assert gaps(at, held, "t") == told
