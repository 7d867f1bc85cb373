"""Commands in the documentation, which are typed into a shell as they stand."""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path

import pytest

from tests.end_to_end.every_command import every_command

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


def test_the_page_of_commands_has_all_commands_and_variables() -> None:
    page = (ROOT / "docs" / "commands.md").read_text()
    missing = [one.name for one in every_command() if not re.search(rf"`{one.name}\b", page)]
    code = "".join(path.read_text() for path in (ROOT / "headrace").rglob("*.py"))
    variables = set(re.findall(r'"(HEADRACE_[A-Z_]+)"', code))
    missing += sorted(name for name in variables if f"`{name}`" not in page)
    assert not missing
    assert set(re.findall(r"`(HEADRACE_[A-Z_]+)`", page)) == variables


def test_the_page_of_commands_has_no_command_that_is_not_there() -> None:
    page = (ROOT / "docs" / "commands.md").read_text()
    words = re.findall(
        r"^\| `((?:headrace|router|lake-writer|backfill) [a-z]+(?: [a-z]+)?)", page, re.MULTILINE
    )
    names = {one.name for one in every_command()}
    assert words
    assert [one for one in words if one not in names] == []
