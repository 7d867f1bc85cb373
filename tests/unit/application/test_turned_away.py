"""Counts of records that were turned away, whoever does a piece of work again."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace import state_files
from headrace.application.rejected_counts import counted, store_counts

if TYPE_CHECKING:
    from pathlib import Path


def test_work_that_is_done_again_counts_once(tmp_path: Path) -> None:
    folder = tmp_path / "away"
    assert counted(folder) == {}
    store_counts(folder, "first", {"dropped": 2})
    store_counts(folder, "first", {"dropped": 2})
    store_counts(folder, "second", {"dropped": 1, "quarantined": 4})
    store_counts(folder, "third", {"dropped": 0})
    assert counted(folder) == {"dropped": 3, "quarantined": 4}
    assert len(list(folder.iterdir())) == 2


def test_two_that_do_the_same_work_at_once_do_not_meet(tmp_path: Path) -> None:
    """A source that a query reads twice, and a task that Spark runs twice, write one file."""
    folder = tmp_path / "away"
    met: list[state_files.Moment] = []

    def the_other(moment: state_files.Moment, _: Path) -> None:
        met.append(moment)
        if met == ["before", "half"]:
            store_counts(folder, "first", {"dropped": 2})

    state_files.watched_by(the_other)
    try:
        store_counts(folder, "first", {"dropped": 2})
    finally:
        state_files.watched_by(None)
    assert len(met) == 6
    assert counted(folder) == {"dropped": 2}
