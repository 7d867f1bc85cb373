"""The tally of late records, kept from one start to the next and by a process that is killed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from headrace import state_files
from headrace.application.late_rows import DroppedLate, LateRows
from headrace.errors import Terminal
from stream_app.live import is_of_tables

if TYPE_CHECKING:
    from pathlib import Path


def always(_: str, __: str) -> bool:
    return True


def test_a_batch_that_is_done_again_counts_once(tmp_path: Path) -> None:
    path = tmp_path / "late.jsonl"
    first = LateRows(path, always)
    first.take(0, DroppedLate(3))
    first.take(1, DroppedLate(5))
    again = LateRows(path, always)
    assert again.total == DroppedLate(8)
    again.take(1, DroppedLate(7))
    again.take(2, DroppedLate())
    last = LateRows(path, always)
    assert last.total == DroppedLate(10)
    assert [last.counted(number) for number in range(4)] == [True, True, True, False]


def test_one_batch_that_is_not_exact_makes_the_sum_a_least(tmp_path: Path) -> None:
    tally = LateRows(tmp_path / "late.jsonl", always)
    tally.take(0, DroppedLate(1_000))
    assert tally.total.to_text() == "1,000"
    tally.take(1, DroppedLate(2, is_exact=False))
    assert LateRows(tmp_path / "late.jsonl", always).total.to_text() == "at least 1,002"


def test_the_tally_is_whole_wherever_the_process_ends(tmp_path: Path) -> None:
    class Ended(BaseException):
        pass

    def end(moment: state_files.Moment, _: Path) -> None:
        if moment == "half":
            raise Ended

    path = tmp_path / "late.jsonl"
    tally = LateRows(path, always)
    tally.take(0, DroppedLate(3))
    state_files.watched_by(end)
    try:
        with pytest.raises(Ended):
            tally.take(1, DroppedLate(5))
    finally:
        state_files.watched_by(None)
    again = LateRows(path, always)
    assert again.total == DroppedLate(3)
    again.take(1, DroppedLate(5))
    assert LateRows(path, always).total == DroppedLate(8)


def test_a_damaged_tally_is_named_and_not_a_traceback(tmp_path: Path) -> None:
    path = tmp_path / "late.jsonl"
    path.write_text('{"1": \n')
    with pytest.raises(Terminal, match=r"late\.jsonl cannot be read"):
        LateRows(path, always)


@pytest.mark.parametrize(
    ("start", "end", "wanted"),
    [
        (
            '{"past": {"step": 1}, "live": {"t": 0}}',
            '{"past": {"step": 2}, "live": {"t": 0}}',
            True,
        ),
        (
            '{"past": {"step": 2}, "live": {"t": 0}}',
            '{"past": {"step": 2}, "live": {"t": 9}}',
            False,
        ),
        ('{"base_us": 1}', '{"base_us": 2}', True),
        ('{"t": {"0": 1}}', '{"t": {"0": 2}}', False),
        ("7", "8", False),
    ],
)
def test_tables_are_read_again_and_topics_are_not(start: str, end: str, wanted: bool) -> None:
    assert is_of_tables(start, end) is wanted
