"""What errors are made of: a mistake in a config file and where it is, what was meant, counts."""

from __future__ import annotations

import difflib
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable


@dataclass(frozen=True, slots=True, order=True)
class Problem:
    """One mistake. `line` and `column` count from 1."""

    path: Path
    line: int
    column: int
    message: str
    suggestion: str = ""

    def __str__(self) -> str:
        sentence = f"{self.shown_path}:{self.line}:{self.column}: {self.message}"
        return f"{sentence} — {self.suggestion}" if self.suggestion else sentence

    @property
    def shown_path(self) -> str:
        """The path as a user would type it from where they are."""
        return shown_path(self.path)

    def as_dict(self) -> dict[str, str | int | None]:
        """Return the facts for `-o json`."""
        return {
            "file": self.shown_path,
            "line": self.line,
            "column": self.column,
            "message": self.message,
            "suggestion": self.suggestion or None,
        }


def absolute(path: Path) -> Path:
    """Return the path from the root, without `..`; a symbolic link stays the name that it has."""
    return Path(os.path.normpath(path.absolute()))


def shown_path(path: Path) -> str:
    """Return the path relative to the current folder when it is below it."""
    try:
        return str(path.relative_to(Path.cwd()))
    except (ValueError, OSError):
        return str(path)


def in_order(problems: Iterable[Problem]) -> list[Problem]:
    """Return every problem once, by file, line and column."""
    return sorted(set(problems))


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """Return `did you mean "…"?` for the nearest known word, else the words that are known."""
    words = list(dict.fromkeys(known))
    near = nearest(word, words)
    if near is not None:
        return f'did you mean "{near}"?'
    if not words:
        return ""
    shown = ", ".join(words[:12])
    return f"known: {shown}" + (", …" if len(words) > 12 else "")


def counted(number: int, one: str, many: str = "") -> str:
    """Return how many there are of something: `1 file`, `2 files`."""
    return f"1 {one}" if number == 1 else f"{number:,} {many or f'{one}s'}"


def nearest(word: str, known: Iterable[str]) -> str | None:
    """Return the known word that was most likely meant."""
    by_folded = {name.casefold(): name for name in known}
    folded = word.casefold()
    found = difflib.get_close_matches(folded, by_folded, n=1, cutoff=0.6)
    if not found and len(folded) > 2:
        found = [name for name in by_folded if name.startswith(folded)]
    return by_folded[found[0]] if found else None
