from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from benchmarks.measure import Measured
from benchmarks.peer import checkpoint_work_s, said, said_work_s

if TYPE_CHECKING:
    from pathlib import Path


def measured(stdout: str) -> Measured:
    return Measured(1.0, 1.0, 0.0, 0.0, 0.0, stdout)


@pytest.mark.parametrize("stdout", ["", "no json", "[1, 2]", '{"rows": 1}\nthen something else'])
def test_what_is_no_report_is_an_empty_one(stdout: str) -> None:
    assert said(measured(stdout)) == {}
    assert said_work_s(measured(stdout)) is None


def test_the_last_line_is_the_report() -> None:
    assert said_work_s(measured('warming up\n{"rows": 5, "work_s": 1.5}\n')) == 1.5


def batch(checkpoint: Path, number: int, planned: float, committed: float) -> None:
    for kind, time in (("offsets", planned), ("commits", committed)):
        (checkpoint / kind).mkdir(parents=True, exist_ok=True)
        file = checkpoint / kind / str(number)
        file.touch()
        os.utime(file, (time, time))
        (checkpoint / kind / f".{number}.crc").touch()


def test_work_goes_from_the_first_plan_to_the_last_commit_of_all_queries(tmp_path: Path) -> None:
    batch(tmp_path / "a", 0, planned=100, committed=103)
    batch(tmp_path / "a", 1, planned=103, committed=110)
    batch(tmp_path / "b", 0, planned=101, committed=112)
    assert checkpoint_work_s([tmp_path / "a", tmp_path / "b"]) == 12


def test_a_query_that_committed_nothing_tells_nothing(tmp_path: Path) -> None:
    assert checkpoint_work_s([tmp_path]) is None
