"""Counts of records that were turned away, whoever does a piece of work again."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.application.turned_away import counted, keep

if TYPE_CHECKING:
    from pathlib import Path


def test_work_that_is_done_again_counts_once(tmp_path: Path) -> None:
    folder = tmp_path / "away"
    assert counted(folder) == {}
    keep(folder, "first", {"dropped": 2})
    keep(folder, "first", {"dropped": 2})
    keep(folder, "second", {"dropped": 1, "quarantined": 4})
    keep(folder, "third", {"dropped": 0})
    assert counted(folder) == {"dropped": 3, "quarantined": 4}
    assert len(list(folder.iterdir())) == 2
