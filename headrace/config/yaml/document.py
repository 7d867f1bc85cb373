"""A YAML file as plain values, with the position of each key and value."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

from headrace.config.yaml.characters import source_index
from headrace.config.yaml.nodes import Lines
from headrace.problems import Problem

if TYPE_CHECKING:
    from pathlib import Path

    from headrace.config.yaml.placeholders import Placeholders

KeyPath: TypeAlias = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class Position:
    """Where a key or value begins. `raw` is a scalar's text before anything was filled in.

    `varies`: a placeholder was filled in, so that it is another text for another topic.
    """

    index: int
    raw: str | None = None
    secret: bool = False
    filled: bool = False
    varies: bool = False


@dataclass(slots=True)
class Document:
    """One file. `data` is None where it could not be read; `problems` says why.

    `notes` are no mistakes, and worth a look. `named` are the files that it names, whether they are there or not. `placeholders` are those of
    the topic that it was read for, where it is about many.
    """

    path: Path
    source: str = ""
    data: object = None
    values: dict[KeyPath, Position] = field(default_factory=dict)
    keys: dict[KeyPath, Position] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)
    notes: list[Problem] = field(default_factory=list)
    unusable: set[KeyPath] = field(default_factory=set)
    named: set[Path] = field(default_factory=set)
    placeholders: Placeholders | None = None
    _lines: Lines | None = None

    def at(self, index: int) -> tuple[int, int]:
        """Return line and column of an index into the source."""
        if self._lines is None:
            self._lines = Lines(self.source)
        return self._lines.position(index)

    def report(
        self,
        path: KeyPath,
        message: str,
        suggestion: str = "",
        *,
        key: bool = False,
        offset: int | None = None,
    ) -> None:
        """Add a problem at a value (at its key with `key`), or at a character of its text."""
        position = self.position(path, key=key)
        if position.raw == "" and not self.source.startswith(("'", '"'), position.index):
            # A value that is not there begins on the next line: its key is where to look.
            position = self.position(path, key=True)
        index = position.index
        if offset is not None and position.raw is not None and not position.filled:
            index = source_index(self.source, position.index, position.raw, offset)
        self.report_at(index, message, suggestion)

    def report_at(self, index: int, message: str, suggestion: str) -> None:
        """Add a problem at an index into the source; one of a topic names the topic."""
        if self.placeholders is not None and not self.placeholders.is_sample:
            message = f"topic {self.placeholders.topic}: {message}"
        self.problems.append(Problem(self.path, *self.at(index), message, suggestion))

    def note(self, path: KeyPath, message: str, suggestion: str) -> None:
        """Add a note at a value."""
        index = self.position(path).index
        self.notes.append(Problem(self.path, *self.at(index), message, suggestion))

    def position(self, path: KeyPath, *, key: bool = False) -> Position:
        """Return the nearest position that the file has for a path."""
        first, second = (self.keys, self.values) if key else (self.values, self.keys)
        for end in range(len(path), -1, -1):
            found = first.get(path[:end]) or second.get(path[:end])
            if found is not None:
                return found
        return Position(0)

    def is_open(self, path: KeyPath) -> bool:
        """Whether a value is not known yet: it has a placeholder, and there is no topic."""
        is_sample = self.placeholders is not None and self.placeholders.is_sample
        return is_sample and path in self.values and self.values[path].varies

    def get(self, *path: str | int) -> object:
        """Return the value at a path, None where there is none."""
        here: object = self.data
        for part in path:
            if isinstance(here, dict):
                here = here.get(part)
            elif isinstance(here, list) and isinstance(part, int) and part < len(here):
                here = here[part]
            else:
                return None
        return here
