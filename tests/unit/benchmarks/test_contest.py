from __future__ import annotations

import itertools
import os
import sys
from dataclasses import replace
from types import SimpleNamespace
from typing import TYPE_CHECKING, cast

import pytest

from benchmarks.contest import Extent, hold
from benchmarks.measure import Command, Measured
from benchmarks.model import (
    Benchmark,
    Competitor,
    Failure,
    LeftOut,
    Omission,
    Run,
    Sample,
    WrongResult,
)

if TYPE_CHECKING:
    from pathlib import Path

    from benchmarks.arena import Arena

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="counts by Linux's means")


class FakeArena:
    """Folders, and a server that costs nothing: this process."""

    limit_s = 60.0
    broker = SimpleNamespace(pid=os.getpid())

    def __init__(self, root: Path) -> None:
        self.root = root
        self.folders: list[Path] = []
        self.cleaned: list[str] = []

    def new_folder(self, name: str) -> Path:
        folder = self.root / f"{len(self.folders)}-{name}"
        folder.mkdir()
        self.folders.append(folder)
        return folder


def competitor(name: str, code: str, arena: FakeArena) -> Competitor:
    """A competitor that has to print 3."""

    def check(measured: Measured) -> None:
        if int(measured.stdout) != 3:
            raise WrongResult("it is not 3")

    def prepare(_arena: Arena, folder: Path) -> Run:
        command = Command([sys.executable, "-c", code], folder)
        return Run(command, check, lambda _: 0.5, lambda: arena.cleaned.append(name))

    return Competitor(name, code, "cold", prepare)


def contest(arena: FakeArena, **codes: str) -> Benchmark:
    competitors = tuple(competitor(name, code, arena) for name, code in codes.items())
    return Benchmark("three", "say three", "right", "right", competitors, load=lambda _: 3)


def test_a_wrong_result_fails_its_round_and_no_other(tmp_path: Path) -> None:
    arena = FakeArena(tmp_path)
    held = contest(
        arena,
        right="print(3)",
        wrong="print(4)",
        unreadable="print('three')",
        broken="raise SystemExit('out of order')",
    )
    outcomes = list(hold(held, cast("Arena", arena), Extent(1), rows=3))
    assert [type(outcome) for outcome in outcomes] == [Sample, Failure, Failure, Failure]
    reasons = [outcome.reason for outcome in outcomes if isinstance(outcome, Failure)]
    assert reasons[0] == "it is not 3"
    assert "cannot be read" in reasons[1]
    assert "ended with 1: out of order" in reasons[2]


def test_every_run_has_a_folder_of_its_own_and_leaves_none(tmp_path: Path) -> None:
    arena = FakeArena(tmp_path)
    held = contest(arena, right="print(3)", wrong="print(4)")
    outcomes = list(hold(held, cast("Arena", arena), Extent(2), rows=3))
    assert [(outcome.round, outcome.competitor) for outcome in outcomes] == [
        (0, "right"),
        (0, "wrong"),
        (1, "wrong"),
        (1, "right"),
    ]
    assert len(set(arena.folders)) == 4
    assert not any(folder.exists() for folder in arena.folders)
    assert arena.cleaned == ["right", "wrong", "wrong", "right"]


@pytest.mark.parametrize(("budget_s", "rounds"), [(0, 1), (25, 2), (35, 3), (1000, 4)])
def test_no_round_is_begun_that_would_not_end_in_time(
    tmp_path: Path, budget_s: float, rounds: int
) -> None:
    arena = FakeArena(tmp_path)
    ticks = itertools.count(0, 5)
    held = contest(arena, right="print(3)")
    # The clock is looked at once before all, and at both ends of a round: each takes 5 s,
    # and as much lies before it.
    outcomes = hold(held, cast("Arena", arena), Extent(4, budget_s), 3, lambda: next(ticks))
    assert len(list(outcomes)) == rounds


def test_who_cannot_be_had_is_left_out_and_has_not_failed(tmp_path: Path) -> None:
    def prepare(_arena: Arena, _folder: Path) -> Run:
        raise LeftOut("there is no compiler")

    arena = FakeArena(tmp_path)
    held = contest(arena, right="print(3)")
    absent = Competitor("absent", "who is not here", "cold", prepare)
    both = replace(held, competitors=(*held.competitors, absent))
    right, missing = hold(both, cast("Arena", arena), Extent(1), rows=3)
    assert isinstance(right, Sample)
    assert missing == Omission(0, 1, "absent", "there is no compiler")
