"""Following a workspace's files: what is to run, by the last good form of each file."""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final, TypeAlias

from headrace.config.app.file import App
from headrace.config.kind_files import check_file, check_workspace_file
from headrace.config.lake_table.file import LakeTable
from headrace.config.load import lake_table_of, stream_of
from headrace.config.stream.file import Stream
from headrace.config.validate import checked_workspace, yaml_files
from headrace.config.workspace.workspace import FILE_NAME
from headrace.errors import BadConfig
from headrace.problems import Problem, in_order

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from headrace.config.common.section import KnownNames
    from headrace.config.kind_files import CheckedFile
    from headrace.config.load import LoadedLakeTable, LoadedStream
    from headrace.config.workspace.workspace import Workspace

    Key: TypeAlias = tuple[str, str]
    Stamp: TypeAlias = tuple[int, int, int] | None

# What Spark is started with, and where state is, stays as it was at the start.
LASTING: Final = ("catalogs", "spark", "state_dir")
# The stamp of a file that was not looked at before it was read.
UNKNOWN: Final = (-1, -1, -1)


@dataclass(frozen=True, slots=True)
class Wanted:
    """Something to run, as its file was when it was good last.

    Two with one `fingerprint` are the same, whatever else was touched.
    """

    config: Stream | LakeTable | App
    path: Path
    workspace: Workspace
    fingerprint: str
    loaded: LoadedStream | LoadedLakeTable | None = None

    @property
    def key(self) -> Key:
        """Its kind and its name."""
        return self.config.kind, self.config.name


@dataclass(frozen=True, slots=True)
class Seen:
    """What is to run now, and what is wrong with files."""

    wanted: Mapping[Key, Wanted]
    problems: Sequence[Problem]
    needs_restart: bool = False


@dataclass(frozen=True, slots=True)
class _Checked:
    """A file as it was checked last, by which stamps."""

    checked: CheckedFile
    problems: tuple[Problem, ...]
    known: KnownNames
    stamps: Mapping[Path, Stamp]

    def is_as_it_was(self, known: KnownNames, stamps: Mapping[Path, Stamp]) -> bool:
        return self.known == known and all(
            stamps.get(path, UNKNOWN) == stamp != UNKNOWN for path, stamp in self.stamps.items()
        )


@dataclass(slots=True)
class Follower:
    """Looks at a workspace's files again and again.

    A broken file is named, and its last good form stays. A file that is gone counts as gone when
    it was missed twice: an editor may be saving it.
    """

    root: Path
    _started: Workspace | None = None
    _stamps: dict[Path, Stamp] = field(default_factory=dict)
    _named: set[Path] = field(default_factory=set)
    _wanted: dict[Key, Wanted] = field(default_factory=dict)
    _missed: set[Path] = field(default_factory=set)
    _checked: dict[Path, _Checked] = field(default_factory=dict)

    def look(self) -> Seen | None:
        """Return what there is now; None where nothing has changed since the last look."""
        stamps = self._stamps_now()
        if stamps == self._stamps and not self._missed:
            return None
        self._stamps = stamps
        document, workspace = check_workspace_file(self.root / FILE_NAME)
        if workspace is None:
            if self._started is None:
                raise BadConfig(in_order(document.problems))
            return Seen(self._wanted, in_order(document.problems))
        started = self._started = self._started or workspace
        needs_restart = any(getattr(workspace, one) != getattr(started, one) for one in LASTING)
        current = replace(workspace, **{one: getattr(started, one) for one in LASTING})
        report, files = checked_workspace(self.root, self._check)
        self._wanted = self._good(files, current)
        # Those that are new here are looked at once more: they may have changed since they were read.
        self._named = {path for one in files for path in one.document.named}
        there = {one.document.path for one in files}
        self._checked = {path: one for path, one in self._checked.items() if path in there}
        return Seen(self._wanted, report.problems, needs_restart)

    def _check(self, path: Path, known: KnownNames) -> CheckedFile:
        """Check a file, unless it is known, and neither it nor what it names has changed."""
        last = self._checked.get(path)
        if last is not None and last.is_as_it_was(known, self._stamps):
            # What was found beside other files is found again, or is not so any more.
            last.checked.document.problems[:] = last.problems
            return last.checked
        checked = check_file(path, known)
        # What is stamped now may be newer than what was read: the stamps are from before that.
        stamps = {one: self._stamps.get(one, UNKNOWN) for one in (path, *checked.document.named)}
        self._checked[path] = _Checked(checked, tuple(checked.document.problems), known, stamps)
        return checked

    def _good(self, files: Sequence[CheckedFile], workspace: Workspace) -> dict[Key, Wanted]:
        contents = _Contents({one.document.path: one for one in files})
        good = [one for one in files if not one.document.problems and one.config is not None]
        found = {one.key: one for one in (_wanted(file, workspace, contents) for file in good)}
        declared = {one.path for one in found.values()}
        missed = set()
        for key, last in self._wanted.items():
            if key in found or last.path in declared:
                # It is as it is now, or its file says something else.
                continue
            if not last.path.exists():
                if last.path in self._missed:
                    continue
                missed.add(last.path)
            found[key] = last
        self._missed = missed
        return found

    def _stamps_now(self) -> dict[Path, Stamp]:
        paths = {self.root / FILE_NAME, *yaml_files(self.root), *self._named}
        return {path: _stamp(path) for path in paths}


@dataclass(slots=True)
class _Contents:
    """Hashes of what files hold, and of what those name."""

    files: Mapping[Path, CheckedFile]
    _hashes: dict[Path, str] = field(default_factory=dict)

    def fingerprint(self, path: Path, workspace: Workspace) -> str:
        """Return what the file, and all that it names, holds; clusters belong to it."""
        clusters = {
            name: (one.region, sorted(one.client_properties().items()))
            for name, one in workspace.clusters.items()
        }
        parts = [self._hash(one) for one in sorted(self._reached(path))]
        return hashlib.sha256(json.dumps([clusters, parts]).encode()).hexdigest()

    def _reached(self, path: Path) -> set[Path]:
        found, left = set(), [path]
        while left:
            here = left.pop()
            if here in found:
                continue
            found.add(here)
            checked = self.files.get(here)
            # A lake writer follows its schema's file itself, without an end.
            if checked is not None and not isinstance(checked.config, LakeTable):
                left += checked.document.named
        return found

    def _hash(self, path: Path) -> str:
        if path not in self._hashes:
            try:
                self._hashes[path] = hashlib.sha256(path.read_bytes()).hexdigest()
            except (OSError, ValueError):
                self._hashes[path] = ""
        return self._hashes[path]


def _wanted(checked: CheckedFile, workspace: Workspace, contents: _Contents) -> Wanted:
    config, path = checked.config, checked.document.path
    fingerprint = contents.fingerprint(path, workspace)
    match config:
        case Stream():
            return Wanted(config, path, workspace, fingerprint, stream_of(checked))
        case LakeTable():
            return Wanted(config, path, workspace, fingerprint, lake_table_of(checked))
        case App():
            return Wanted(config, path, workspace, fingerprint)
        case _:
            raise BadConfig(in_order(checked.document.problems))


def _stamp(path: Path) -> Stamp:
    try:
        found = os.stat(path)  # noqa: PTH116 - a Path's own is slower, and there are many
    except (OSError, ValueError):
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino
