from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.errors import Terminal
from router.replayed import Offsets, Replayed

if TYPE_CHECKING:
    from pathlib import Path


@given(st.lists(st.integers(0, 40)), st.lists(st.tuples(st.integers(0, 40), st.integers(1, 5))))
def test_offsets_are_a_set(added: list[int], runs: list[tuple[int, int]]) -> None:
    offsets = Offsets((start, start + width) for start, width in runs)
    oracle = {one for start, width in runs for one in range(start, start + width)}
    for offset in added:
        offsets.add(offset)
        oracle.add(offset)
    assert [one for one in range(60) if one in offsets] == sorted(oracle)
    assert len(offsets) == len(oracle)
    ends = [end for _, end in offsets.runs]
    starts = [start for start, _ in offsets.runs]
    assert all(end < start for end, start in zip(ends, starts[1:], strict=False))


def test_what_was_replayed_is_known_to_the_next_replay(tmp_path: Path) -> None:
    path = tmp_path / "replayed" / "out.json"
    replayed = Replayed(path, "a")
    for offset in (3, 4, 7):
        replayed.add(1, offset)
    replayed.save()
    again = Replayed(path, "a")
    assert [one for one in range(10) if again.has(1, one)] == [3, 4, 7]
    assert not again.has(0, 3)
    # The topic was made anew: its offsets are other records.
    assert not Replayed(path, "b").has(1, 3)


@pytest.mark.parametrize("text", ["", "{}", '{"done": [], "topic_id": "a"}', '{"done": {"x": 1}}'])
def test_a_damaged_file_is_named(tmp_path: Path, text: str) -> None:
    path = tmp_path / "out.json"
    path.write_text(text)
    with pytest.raises(Terminal, match=r"out\.json is damaged"):
        Replayed(path, "a")
