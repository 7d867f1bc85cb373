from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from headrace.errors import Terminal
from router.quarantine.replayed import Replayed

if TYPE_CHECKING:
    from pathlib import Path


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
