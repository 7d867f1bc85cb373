"""Following a workspace's files: what is to run, by the last good form of each file."""

from __future__ import annotations

import hashlib
import json
import time
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final, TypeAlias

from fleet.stamps import UNSETTLED_NS, YamlFiles, stamp
from fleet.topics import TopicWatch
from headrace.config.app.file import App
from headrace.config.kind_files import check_file, check_workspace_file
from headrace.config.lake_table.file import LakeTable
from headrace.config.load import lake_table_of, stream_of
from headrace.config.many_topics import clusters_of, expand
from headrace.config.stream.file import Stream
from headrace.config.validate import checked_workspace
from headrace.config.workspace.workspace import FILE_NAME
from headrace.errors import BadConfig
from headrace.problems import Problem, in_order

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from fleet.stamps import Stamp
    from headrace.config.common.section import KnownNames
    from headrace.config.kind_files import CheckedFile, Template
    from headrace.config.load import LoadedLakeTable, LoadedStream
    from headrace.config.many_topics import Expansion
    from headrace.config.workspace.workspace import Workspace
    from headrace.config.yaml.placeholders import Placeholders

    Key: TypeAlias = tuple[str, str]
    Origin: TypeAlias = tuple[Path, str | None]

# What Spark is started with, and where state is, stays as it was at the start.
LASTING: Final = ("catalogs", "spark", "state_dir", "checkpoint_dir", "links", "prices", "lineage")
# The stamp of a file that was not looked at before it was read.
UNKNOWN: Final = (-1, -1, -1)


@dataclass(frozen=True, slots=True)
class Wanted:
    """Something to run, as its file was when it was good last.

    Two with one `fingerprint` are the same, whatever else was touched. `topic` is that of a file
    for many.
    """

    config: Stream | LakeTable | App
    path: Path
    workspace: Workspace
    fingerprint: str
    loaded: LoadedStream | LoadedLakeTable | None = None
    topic: str | None = None

    @property
    def key(self) -> Key:
        """Its kind and its name."""
        return self.config.kind, self.config.name

    @property
    def origin(self) -> Origin:
        """Its file, and its topic where that is one of many."""
        return self.path, self.topic


@dataclass(frozen=True, slots=True)
class Seen:
    """What is to run now, and what is wrong with files.

    `of_topics` has the topic of each problem that is one topic's alone. `empty` are files for many
    topics that none matches.
    """

    wanted: Mapping[Key, Wanted]
    problems: Sequence[Problem]
    needs_restart: bool = False
    of_topics: Mapping[Problem, str] = field(default_factory=dict)
    empty: Sequence[Path] = ()


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
    it was missed twice: an editor may be saving it. A file for many topics is followed in what
    its cluster has of them, too. With `only`, one file is followed and no other.
    """

    root: Path
    region: str | None = None
    only: Path | None = None
    topics: TopicWatch = field(default_factory=TopicWatch)
    _topics_known: Mapping[str, frozenset[str] | None] = field(default_factory=dict)
    _started: Workspace | None = None
    _stamps: dict[Path, Stamp] = field(default_factory=dict)
    _named: set[Path] = field(default_factory=set)
    _wanted: dict[Key, Wanted] = field(default_factory=dict)
    _missed: set[Path] = field(default_factory=set)
    _checked: dict[Origin, _Checked] = field(default_factory=dict)
    _files: YamlFiles | None = None
    # Stamps of files that were named for the first time in this look.
    _fresh: dict[Path, Stamp] = field(default_factory=dict)

    def look(self) -> Seen | None:
        """Return what there is now; None where nothing has changed since the last look."""
        stamps, known = self._stamps_now(), self.topics.known()
        if stamps == self._stamps and known == self._topics_known and not self._missed:
            return None
        self._stamps, self._fresh, self._topics_known = stamps, {}, known
        document, workspace = check_workspace_file(self.root / FILE_NAME)
        if workspace is None:
            if self._started is None:
                raise BadConfig(in_order(document.problems))
            return Seen(self._wanted, in_order(document.problems))
        started = self._started = self._started or workspace
        needs_restart = any(getattr(workspace, one) != getattr(started, one) for one in LASTING)
        current = replace(workspace, **{one: getattr(started, one) for one in LASTING})
        report, files = checked_workspace(self.root, self._check, self.only)
        asked = clusters_of(files, self.region) & current.clusters.keys()
        self.topics.want({name: current.cluster(name) for name in asked})
        found = expand(files, known, self.region, self._check_topic)
        self._wanted = self._good(files, found, current)
        # Those that are new here are looked at once more: they may have changed since they were read.
        self._named = {path for one in (*files, *found.files) for path in one.document.named}
        there = {_origin(one) for one in (*files, *found.files)}
        self._checked = {origin: one for origin, one in self._checked.items() if origin in there}
        of_topics = {
            problem: one.topic
            for one in found.files
            if one.topic
            for problem in one.document.problems
        }
        empty = [one.document.path for one in found.empty]
        problems = in_order([*report.problems, *of_topics])
        return Seen(self._wanted, problems, needs_restart, of_topics, empty)

    def _check(self, path: Path, known: KnownNames) -> CheckedFile:
        """Check a file, unless it is known, and neither it nor what it names has changed."""
        return self._as_it_is((path, None), known, lambda: check_file(path, known))

    def _check_topic(self, template: Template, placeholders: Placeholders) -> CheckedFile:
        origin = template.parsed.path, placeholders.topic
        return self._as_it_is(origin, template.known, lambda: template.check(placeholders))

    def _as_it_is(
        self, origin: Origin, known: KnownNames, check: Callable[[], CheckedFile]
    ) -> CheckedFile:
        last = self._checked.get(origin)
        if last is not None and last.is_as_it_was(known, self._stamps):
            # What was found beside other files is found again, or is not so any more.
            last.checked.document.problems[:] = last.problems
            return last.checked
        began_ns = time.time_ns()
        checked = check()
        # What is stamped now may be newer than what was read: the stamps are from before that.
        paths = (origin[0], *checked.document.named)
        stamps = {one: self._before(one, began_ns) for one in paths}
        self._checked[origin] = _Checked(checked, tuple(checked.document.problems), known, stamps)
        return checked

    def _before(self, path: Path, began_ns: int) -> Stamp:
        """Return a file's stamp from before a moment; one that was changed long before serves, too."""
        if path not in self._stamps:
            if path not in self._fresh:
                self._fresh[path] = stamp(path)
            found = self._fresh[path]
            is_old = found is not None and began_ns - found[0] > UNSETTLED_NS
            return found if is_old else UNKNOWN
        return self._stamps[path]

    def _good(
        self, files: Sequence[CheckedFile], now: Expansion, workspace: Workspace
    ) -> dict[Key, Wanted]:
        contents = _Contents({one.document.path: one for one in files})
        good = [one for one in now.files if not one.document.problems and one.config is not None]
        found = {one.key: one for one in (_wanted(file, workspace, contents) for file in good)}
        declared = {one.origin for one in found.values()}
        # Files that say which topics they are about, and of which it is known which those are.
        unknown = {one.document.path for one in now.unknown}
        sound = {one.document.path for one in files if not one.document.problems} - unknown
        there = {_origin(one) for one in now.files}
        missed = set()
        for key, last in self._wanted.items():
            if key in found or last.origin in declared:
                # It is as it is now, or its file says something else.
                continue
            if not last.path.exists():
                if last.path in self._missed:
                    continue
                missed.add(last.path)
            elif last.path in sound and last.origin not in there:
                # Its topic is gone, or the file does not match it any more.
                continue
            found[key] = last
        self._missed = missed
        return found

    def _stamps_now(self) -> dict[Path, Stamp]:
        if self._files is None:
            self._files = YamlFiles(self.root)
        files = self._files.now() if self.only is None else (self.only,)
        return {path: stamp(path) for path in {self.root / FILE_NAME, *files, *self._named}}


@dataclass(slots=True)
class _Contents:
    """Hashes of what files hold, and of what those name."""

    files: Mapping[Path, CheckedFile]
    _hashes: dict[Path, str] = field(default_factory=dict)

    def fingerprint(self, checked: CheckedFile, workspace: Workspace) -> str:
        """Return what the file, and all that it names, holds; clusters and its topic belong to it."""
        clusters = {
            name: (one.region, sorted(one.client_properties().items()))
            for name, one in workspace.clusters.items()
        }
        parts = [self._hash(one) for one in sorted(self._reached(checked))]
        whole = json.dumps([clusters, parts, checked.topic])
        return hashlib.sha256(whole.encode()).hexdigest()

    def _reached(self, checked: CheckedFile) -> set[Path]:
        found = {checked.document.path}
        left = list(_named_by(checked))
        while left:
            here = left.pop()
            if here in found:
                continue
            found.add(here)
            other = self.files.get(here)
            left += () if other is None else _named_by(other)
        return found

    def _hash(self, path: Path) -> str:
        if path not in self._hashes:
            try:
                self._hashes[path] = hashlib.sha256(path.read_bytes()).hexdigest()
            except (OSError, ValueError):
                self._hashes[path] = ""
        return self._hashes[path]


def _named_by(checked: CheckedFile) -> set[Path]:
    # A lake writer follows its schema's file itself, without an end.
    return set() if isinstance(checked.config, LakeTable) else checked.document.named


def _origin(checked: CheckedFile) -> Origin:
    return checked.document.path, checked.topic


def _wanted(checked: CheckedFile, workspace: Workspace, contents: _Contents) -> Wanted:
    config, (path, topic) = checked.config, _origin(checked)
    fingerprint = contents.fingerprint(checked, workspace)
    match config:
        case Stream():
            return Wanted(config, path, workspace, fingerprint, stream_of(checked), topic)
        case LakeTable():
            return Wanted(config, path, workspace, fingerprint, lake_table_of(checked), topic)
        case App():
            return Wanted(config, path, workspace, fingerprint)
        case _:
            raise BadConfig(in_order(checked.document.problems))
