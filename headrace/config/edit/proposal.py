"""From proposed texts to what would become of the workspace: problems, and differences by file."""

from __future__ import annotations

import difflib
import hashlib
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from headrace import proposed_files
from headrace.config.edit.folder import SCHEMA, NotEditable, check_new_name, check_path, opened
from headrace.config.edit.folder import folder_of as open_folder
from headrace.config.edit.known_checks import KnownChecks
from headrace.config.edit.plain_secrets import line_of_secret
from headrace.config.edit.reach import beyond_reach
from headrace.errors import UsageError
from headrace.problems import Problem, absolute, in_order
from headrace.schema.avro import parse_avro
from headrace.schema.rules import SchemaRefused

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from headrace.config.kind_files import CheckedFile

MOST_FILES: Final = 20
MOST_BYTES: Final = 2**20
# What applications are made of runs as code of the user's: they are written by hand.
KINDS: Final = ("stream", "lake_table")
NEW: Final = "new"
_BOM: Final = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class ProposedFile:
    """One file: the content that it would have, and the one that it has. `was` is None if it is new."""

    path: str
    content: bytes
    was: bytes | None

    @property
    def hash(self) -> str:
        """What tells the content on the disk from any other; `new` if there is no file."""
        return NEW if self.was is None else hashlib.sha256(self.was).hexdigest()

    @property
    def is_changed(self) -> bool:
        """Whether there is anything to write."""
        return self.content != self.was

    @property
    def diff(self) -> str:
        """The difference as `diff -u` shows it; of a new file all lines, and nothing if it is equal.

        A file that may have a secret in it is not shown.
        """
        before, after = _lines(self.was or b""), _lines(self.content)
        old = "/dev/null" if self.was is None else f"a/{self.path}"
        line = line_of_secret("".join(before))
        if line is not None and before != after:
            said = f"The difference is not shown: line {line} of the file may have a secret in it."
            return f"--- {old}\n+++ b/{self.path}\n{said}\n"
        return "".join(difflib.unified_diff(before, after, old, f"b/{self.path}"))


@dataclass(frozen=True, slots=True)
class Proposal:
    """A change of a workspace, and what would be wrong with it.

    `problems` are those of the proposed files, and those that the change makes in others. `others`
    are there without the change, too: they do not stop it.
    """

    root: Path
    files: tuple[ProposedFile, ...]
    problems: tuple[Problem, ...] = ()
    others: tuple[Problem, ...] = ()
    notes: tuple[Problem, ...] = ()
    checked: Mapping[str, CheckedFile] = field(default_factory=dict, repr=False, compare=False)

    @property
    def hashes(self) -> dict[str, str]:
        """What the files hold now, by path: whoever saves says which contents they have seen."""
        return {one.path: one.hash for one in self.files}

    @property
    def diff(self) -> str:
        """The difference of all files."""
        return "".join(one.diff for one in self.files)

    @property
    def is_changed(self) -> bool:
        """Whether there is anything to write."""
        return any(one.is_changed for one in self.files)

    @contextmanager
    def in_place(self) -> Iterator[None]:
        """Let this thread read the workspace as it would be."""
        contents = {self.root / one.path: one.content for one in self.files}
        with proposed_files.proposed(contents):
            yield


def propose(
    workspace_root: Path, texts: Mapping[str, str], checks: KnownChecks | None = None
) -> Proposal:
    """Check the workspace as it would be with these texts, by paths below it. Nothing is written.

    Whoever proposes often hands in the `checks` of last time. NotEditable is raised for a path that may not be written, before anything is read.
    """
    root = absolute(workspace_root)
    if not texts:
        raise UsageError("no file is proposed", "send at least one path with its text")
    if len(texts) > MOST_FILES:
        raise UsageError(f"these are {len(texts)} files", f"send {MOST_FILES} at most")
    parts = {path: check_path(path) for path in texts}
    files = tuple(_file(root, path, parts[path], text) for path, text in texts.items())
    return _checked(Proposal(root, files), checks or KnownChecks())


def current(root: Path, path: str) -> bytes | None:
    """Return what a file holds now, None where there is none; NotEditable as above."""
    parts = check_path(path)
    with opened(root) as handle, open_folder(handle, parts) as folder:
        return None if folder is None else folder.read(parts[-1])


def _file(root: Path, path: str, parts: tuple[str, ...], text: str) -> ProposedFile:
    was = current(root, path)
    if was is None:
        check_new_name(parts)
    try:
        content = _as_written(text, was)
    except UnicodeEncodeError:
        raise UsageError(f"the text of {path} has half a character", "send it as UTF-8") from None
    if len(content) > MOST_BYTES:
        raise UsageError(f"the text of {path} is larger than 1 MiB", "edit it by hand")
    return ProposedFile(path, content, was)


def _as_written(text: str, was: bytes | None) -> bytes:
    """Return a text as bytes: a form's line ends become those of the file."""
    lines = text.replace("\r\n", "\n").replace("\r", "\n")
    if lines and not lines.endswith("\n"):
        lines += "\n"
    if was is not None and was.count(b"\r\n") * 2 > was.count(b"\n"):
        lines = lines.replace("\n", "\r\n")
    mark = _BOM if was is not None and was.startswith(_BOM) else b""
    return mark + lines.removeprefix("\ufeff").encode()


def _checked(proposal: Proposal, checks: KnownChecks) -> Proposal:
    root = proposal.root
    own = {root / one.path: one.path for one in proposal.files}
    with proposal.in_place():
        report, files = checks.workspace(root)
    beyond = list(beyond_reach(root, set(own), files))
    known = {path: one for one in files if (path := own.get(one.document.path)) is not None}
    found = [one for one in report.problems if one.path not in {each.path for each in beyond}]
    if beyond:
        # What such a file makes others say may show what it reaches.
        found = [one for one in found if one.path in own]
    found += [*beyond, *_of_one(proposal, known)]
    ours = [one for one in found if one.path in own]
    left = [one for one in found if one.path not in own]
    there = set(checks.workspace(root)[0].problems) if left else set()
    return Proposal(
        root,
        proposal.files,
        tuple(in_order([*ours, *(one for one in left if one not in there)])),
        tuple(one for one in left if one in there),
        tuple(one for one in report.notes if one.path in own),
        known,
    )


def _of_one(proposal: Proposal, known: Mapping[str, CheckedFile]) -> Iterator[Problem]:
    """Give what is wrong with a file that no check of the workspace would see."""
    for one in proposal.files:
        path = proposal.root / one.path
        if one.path.endswith(SCHEMA):
            try:
                parse_avro(one.content, one.path)
            except SchemaRefused as refused:
                yield from (Problem(path, 1, 1, problem) for problem in refused.problems)
            continue
        checked = known.get(one.path)
        if checked is None:
            message, advice = "this file has no kind", "begin it with kind: stream"
            yield Problem(path, 1, 1, message, advice)
        elif checked.kind is not None and checked.kind not in KINDS:
            message = f"a file of kind {checked.kind} is edited by hand"
            yield Problem(path, 1, 1, message, "only streams and lake tables are saved from here")


def _lines(content: bytes) -> Sequence[str]:
    text = content.decode("utf-8-sig", errors="replace").replace("\r\n", "\n")
    lines = text.splitlines(keepends=True)
    if lines and not lines[-1].endswith("\n"):
        lines[-1] += "\n\\ No newline at end of file\n"
    return lines


__all__ = ["NEW", "NotEditable", "Proposal", "ProposedFile", "current", "propose"]
