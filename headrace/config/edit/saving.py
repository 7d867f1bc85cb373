"""Saving a proposal: all of its files or none, and none over a content that nobody has seen."""

from __future__ import annotations

import fcntl
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from headrace.config.edit.folder import SCHEMA, check_path, folder_of, opened
from headrace.errors import BadConfig, Terminal

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from headrace.config.edit.folder import Folder
    from headrace.config.edit.proposal import Proposal, ProposedFile


class FilesChanged(Terminal):
    """Files that hold something else than what somebody has seen. Nothing was written."""

    def __init__(self, paths: Sequence[str]) -> None:
        self.paths = tuple(paths)
        what = "has" if len(paths) == 1 else "have"
        super().__init__(
            f"{', '.join(paths)} {what} changed meanwhile, and nothing was saved",
            "look at the difference to the file as it is now, and save again",
        )


def save(proposal: Proposal, seen: Mapping[str, str] | None = None) -> list[str]:
    """Write the files that differ, and return their paths.

    `seen` are the hashes of the contents that somebody has seen, by path; FilesChanged names the
    files that hold something else, or did so when they were to be written. BadConfig has the
    problems of a proposal that has any. A schema is in its place before what names it.
    """
    if proposal.problems:
        raise BadConfig(proposal.problems)
    known = proposal.hashes if seen is None else seen
    changed = [one.path for one in proposal.files if known.get(one.path) != one.hash]
    if changed:
        raise FilesChanged(changed)
    files = sorted(
        (one for one in proposal.files if one.is_changed),
        key=lambda one: (not one.path.endswith(SCHEMA), one.path.startswith("streams/"), one.path),
    )
    try:
        with ExitStack() as stack:
            root = stack.enter_context(opened(proposal.root))
            # Two commands of this host may serve the same workspace.
            fcntl.flock(root, fcntl.LOCK_EX)
            _write([_draft(stack, root, one) for one in files])
    except OSError as problem:
        raise Terminal(
            f"nothing was saved: {problem.strerror or problem}",
            "see whether this process may write into the workspace's folder",
        ) from None
    return [one.path for one in files]


@dataclass(slots=True)
class _Draft:
    """A file that is on the disk already, under a hidden name."""

    file: ProposedFile
    folder: Folder
    name: str
    draft: str

    def place(self) -> None:
        if self.folder.read(self.name) != self.file.was:
            raise FilesChanged([self.file.path])
        try:
            self.folder.place(self.draft, self.name, is_new=self.file.was is None)
        except FileExistsError:
            raise FilesChanged([self.file.path]) from None

    def take_back(self) -> None:
        """Restore what was there, unless somebody has changed the file again."""
        if self.folder.read(self.name) != self.file.content:
            return
        if self.file.was is None:
            self.folder.remove(self.name)
        else:
            before = self.folder.draft(self.name, self.file.was)
            self.folder.place(before, self.name, is_new=False)


def _draft(stack: ExitStack, root: int, file: ProposedFile) -> _Draft:
    parts = check_path(file.path)
    folder = stack.enter_context(folder_of(root, parts, make=True))
    if folder is None:
        raise FilesChanged([file.path])
    draft = folder.draft(parts[-1], file.content)
    stack.callback(folder.remove, draft)
    return _Draft(file, folder, parts[-1], draft)


def _write(drafts: Sequence[_Draft]) -> None:
    placed: list[_Draft] = []
    try:
        for one in drafts:
            one.place()
            placed.append(one)
    except BaseException:
        for one in reversed(placed):
            with suppress(OSError, Terminal):
                one.take_back()
        raise
