"""Commands in the documentation, which are typed into a shell as they stand."""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
WITH_COMMANDS = [
    ROOT / "README.md",
    *(ROOT / "docs").glob("*.md"),
    *(ROOT / "examples").glob("*/README.md"),
    *(ROOT / "headrace" / "templates").rglob("*.md"),
]
# An option alone on its line belongs to the command above it.
GOES_ON = re.compile(r"\s+--?[a-z]")


@pytest.mark.parametrize("path", WITH_COMMANDS, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_command_of_several_lines_is_one_for_the_shell(path: Path) -> None:
    cut = [
        f"{path.name}:{number}: {before}"
        for number, (before, line) in enumerate(pairwise(path.read_text().splitlines()), start=1)
        if GOES_ON.match(line) and not before.endswith("\\")
    ]
    assert not cut
