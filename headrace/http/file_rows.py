"""Proposed files, as pages and programs see them: what would be wrong, and what would be written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence  # noqa: TC003 - the OpenAPI document is made by the types
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class FileProblem:
    """A mistake, as `headrace validate` reports it."""

    file: str
    line: int
    column: int
    message: str
    suggestion: str | None = None


@dataclass(frozen=True, slots=True)
class FileChange:
    """A file that would be written. `hash` is of its content now, and `new` if there is none."""

    path: str
    is_new: bool
    hash: str
    diff: str


@dataclass(frozen=True, slots=True)
class FilesCheck:
    """What the workspace would be with the proposed files.

    `problems` stop a save. `others` are in other files, and are there without the change, too.
    """

    ok: bool
    problems: Sequence[FileProblem] = ()
    others: Sequence[FileProblem] = ()
    notes: Sequence[FileProblem] = ()
    files: Sequence[FileChange] = ()

    @property
    def seen(self) -> Mapping[str, str]:
        """The hashes of what the files hold now, by path."""
        return {one.path: one.hash for one in self.files}


@dataclass(frozen=True, slots=True)
class FilesSaved:
    """The paths that were written; or why none was: they have `changed`, or the check has problems."""

    saved: Sequence[str] = ()
    changed: Sequence[str] = ()
    check: FilesCheck = field(default_factory=lambda: FilesCheck(ok=False))

    @property
    def ok(self) -> bool:
        """Whether the files are as they were proposed."""
        return self.check.ok and not self.changed
