from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from headrace.contract import QUARANTINE
from router.run.groups import CLOSE, grouped


def test_an_output_a_query() -> None:
    places = {name: {0: 5} for name in ("a", "b", QUARANTINE)}
    assert grouped(["a", "b", QUARANTINE], [], "output", places) == {
        "a": ["a"],
        "b": ["b"],
        QUARANTINE: [QUARANTINE],
    }


def test_a_single_output_and_the_quarantine_share_a_query() -> None:
    places = {"a": {0: 5}, QUARANTINE: {0: 5}}
    assert grouped(["a", QUARANTINE], [], "output", places) == {"a": ["a", QUARANTINE]}


def test_one_query_for_all_but_those_that_spark_evaluates() -> None:
    places = {name: {0: 5} for name in ("a", "b", "c", QUARANTINE)}
    assert grouped(["a", "b", QUARANTINE], ["c"], "stream", places) == {
        "all": ["a", "b", QUARANTINE],
        "c": ["c"],
    }


def test_an_output_that_is_called_as_the_query_of_the_others() -> None:
    places = {name: {0: 5} for name in ("a", "b", "all")}
    assert grouped(["a", "b"], ["all"], "stream", places) == {
        "all": ["a", "b"],
        "all.behind": ["all"],
    }


def test_who_is_far_behind_catches_up_apart() -> None:
    places = {"a": {0: 2 * CLOSE}, "b": {0: 3}, "c": {0: 2 * CLOSE - 7}, QUARANTINE: {0: 0}}
    assert grouped(["a", "b", "c", QUARANTINE], [], "stream", places) == {
        "all": ["a", "c"],
        "b": ["b"],
        QUARANTINE: [QUARANTINE],
    }


def test_a_single_output_far_behind_its_quarantine() -> None:
    places = {"a": {0: 3}, QUARANTINE: {0: 2 * CLOSE}}
    assert grouped(["a", QUARANTINE], [], "output", places) == {
        "a": [QUARANTINE],
        "a.behind": ["a"],
    }


@given(
    st.lists(st.sampled_from("abcdef"), unique=True, min_size=1),
    st.booleans(),
    st.sampled_from(["output", "stream"]),
    st.data(),
)
def test_everybody_is_in_exactly_one_query(
    outputs: list[str], keeps: bool, isolation: str, data: st.DataObject
) -> None:
    alone = [name for name in outputs if data.draw(st.booleans())]
    direct = [name for name in outputs if name not in alone] + ([QUARANTINE] if keeps else [])
    places = {name: {0: data.draw(st.integers(0, 3 * CLOSE))} for name in (*direct, *alone)}
    groups = grouped(direct, alone, "stream" if isolation == "stream" else "output", places)
    members = [name for group in groups.values() for name in group]
    assert sorted(members) == sorted((*direct, *alone))
