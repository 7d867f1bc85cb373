"""Complete up to a time: all that the topic held then has landed."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from headrace.landing.completeness import (
    MOST_PENDING,
    Completeness,
    Ends,
    complete_up_to,
    completeness_property,
)

steps = st.lists(
    st.one_of(
        st.tuples(st.just("grow"), st.integers(0, 2), st.integers(1, 3)),
        st.tuples(st.just("look"), st.just(0), st.just(0)),
        st.tuples(st.just("land"), st.integers(0, 2), st.integers(1, 5)),
    ),
    max_size=40,
)


@given(steps)
def test_it_is_the_last_look_at_which_nothing_was_missing(
    happening: list[tuple[str, int, int]],
) -> None:
    topic, table = dict.fromkeys(range(3), 0), dict.fromkeys(range(3), 0)
    complete, looks = Completeness(), []
    for now, (what, partition, number) in enumerate(happening):
        if what == "grow":
            topic[partition] += number
        elif what == "look":
            looks.append((now, dict(topic)))
            complete = complete.seen(Ends(now, dict(topic)))
        else:
            table[partition] = min(topic[partition], table[partition] + number)
            complete = complete.landed(table)
            whole = [t for t, ends in looks if all(table[p] >= end for p, end in ends.items())]
            assert complete.time_us == max(whole, default=None)


def test_a_writer_far_behind_remembers_a_bounded_number_of_ends() -> None:
    complete = Completeness()
    for now in range(10 * MOST_PENDING):
        complete = complete.seen(Ends(now, {0: now + 1}))
    assert len(complete.pending) == MOST_PENDING
    assert complete.landed({0: 1}).time_us == 0


def test_what_other_tools_read() -> None:
    complete = Completeness(1_772_323_200_000_000)
    text = complete.to_json({10: 7, 2: 5})
    assert text == '{"time":"2026-03-01T00:00:00.000000Z","next":{"2":5,"10":7}}'
    assert Completeness.from_json(text) == complete
    assert Completeness().to_json({}) == '{"time":null,"next":{}}'
    assert Completeness.from_json(None) == Completeness()


def test_the_writer_that_is_least_far_counts() -> None:
    far, near, never = Completeness(2 * 10**15), Completeness(10**15), Completeness()
    said = {completeness_property("far"): far.to_json({0: 9}), "another": "property"}
    assert complete_up_to(said) == Completeness(2 * 10**15)
    said[completeness_property("near")] = near.to_json({0: 9})
    assert complete_up_to(said) == Completeness(10**15)
    said[completeness_property("never")] = never.to_json({})
    assert complete_up_to(said) == Completeness(None)
    assert complete_up_to({}) is None
