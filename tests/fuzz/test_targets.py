"""The short form of the fuzzing: what was found to matter, and what is close to it."""

from __future__ import annotations

import random

import pytest

from tests.fuzz.registry import TARGETS

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


def mutated(dice: random.Random, one: bytes, other: bytes) -> bytes:
    """Return the one with a part cut out, and a byte or a part of the other in its place."""
    start = dice.randint(0, len(one))
    end = dice.randint(start, min(len(one), start + 8))
    begin = dice.randint(0, len(other))
    part = other[begin : begin + dice.randint(0, 16)]
    return one[:start] + dice.choice([b"", dice.randbytes(1), part, part * 3]) + one[end:]
