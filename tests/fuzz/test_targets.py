"""The short form of the fuzzing: what was found to matter, and what is close to it."""

from __future__ import annotations

import contextlib
import random
from typing import TYPE_CHECKING

import pytest

from headrace.records.framing import framed
from headrace.records.rows import BadRecord
from tests.fuzz.keep import keep
from tests.fuzz.registry import TARGETS
from tests.fuzz.target import Target

if TYPE_CHECKING:
    from pathlib import Path

MUTATED = 60


@pytest.mark.parametrize("name", TARGETS)
def test_every_input_that_once_mattered_is_taken(name: str) -> None:
    for value in TARGETS[name].inputs():
        TARGETS[name].run(value)


@pytest.mark.parametrize("name", TARGETS)
def test_an_input_that_was_changed_is_taken(name: str) -> None:
    dice, inputs = random.Random(name), TARGETS[name].inputs()
    for _ in range(MUTATED):
        TARGETS[name].run(mutated(dice, dice.choice(inputs), dice.choice(inputs)))


def test_what_runs_lines_of_its_own_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tests.fuzz.target.CORPUS", tmp_path / "corpus")
    found = tmp_path / "found"
    found.mkdir()
    for number, value in enumerate((b"\x08", b"\x07", bytes(5), bytes(6))):
        (found / str(number)).write_bytes(value)

    def run(value: bytes) -> None:
        with contextlib.suppress(BadRecord):
            framed(value)

    target = Target("framing", run, (b"",))
    kept = [file.read_bytes() for file in keep(target, found)]
    assert kept == [b"\x07", bytes(5)]
    assert keep(target, found) == []


def mutated(dice: random.Random, one: bytes, other: bytes) -> bytes:
    """Return the one with a part cut out, and a byte or a part of the other in its place."""
    start = dice.randint(0, len(one))
    end = dice.randint(start, min(len(one), start + 8))
    begin = dice.randint(0, len(other))
    part = other[begin : begin + dice.randint(0, 16)]
    return one[:start] + dice.choice([b"", dice.randbytes(1), part, part * 3]) + one[end:]
