"""All files of a workspace, checked together."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

from headrace import proposed_files
from headrace.config.app.check_sources import check_landed
from headrace.config.check_many import check_all
from headrace.config.common.section import KnownNames
from headrace.config.kind_files import CheckedFile, check_file, check_workspace_file, known_of
from headrace.config.load import nearest_workspace
from headrace.config.workspace.workspace import FILE_NAME
from headrace.config.written_topics import check_circles
from headrace.problems import Problem, absolute, in_order, shown_path

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from headrace.config.yaml.document import Document

YAML_SUFFIXES: Final = frozenset({".yaml", ".yml"})
_HAS_KIND = re.compile(r"""^["']?kind["']?\s*:|^\s*\{[^#]*\bkind\b""", re.MULTILINE)
_IS_FOREIGN = re.compile(r"^apiVersion\s*:", re.MULTILINE)


@dataclass(slots=True)
class ValidationReport:
    """What was checked, and what was wrong with it. `notes` are no mistakes."""

    files: list[Path] = field(default_factory=list)
    kinds: dict[str, int] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)
    notes: list[Problem] = field(default_factory=list)
    _names: dict[tuple[Path | None, str, str], Path] = field(default_factory=dict)

    def add(self, checked: CheckedFile, root: Path | None) -> None:
        """Count a kind file in; a name that its kind has already is a problem."""
        document, kind = checked.document, checked.kind
        self.files.append(document.path)
        name = document.get("name")
        if kind is not None:
            self.kinds[kind] = self.kinds.get(kind, 0) + 1
            # Of a file for many topics, only its topics have names.
            if isinstance(name, str) and document.placeholders is None:
                self._check_name(document, root, kind, name)
        self.problems += document.problems
        self.notes += document.notes

    def _check_name(self, document: Document, root: Path | None, kind: str, name: str) -> None:
        other = self._names.setdefault((root, kind, name), document.path)
        if other != document.path:
            shown = document.position(("name",)).raw
            message = f'a second {kind} with the name "{shown}": both would use the same state'
            document.report(("name",), message, f"the other is {shown_path(other)}")


def check_workspace(root: Path) -> ValidationReport:
    """Check headrace.yaml and every file under it that has a kind."""
    report, _ = checked_workspace(root)
    return report


def checked_workspace(
    root: Path,
    check: Callable[[Path, KnownNames], CheckedFile] | None = None,
    only: Path | None = None,
) -> tuple[ValidationReport, list[CheckedFile]]:
    """Check the same; return the files, too, each with the problems that it has.

    Whoever knows a file from before may say how one is checked. With `only`, it is that one file.
    """
    report = ValidationReport()
    known = _check_root(root, report)
    paths = list(kind_files(root)) if only is None else [only]
    files = check_all(paths, known) if check is None else [check(one, known) for one in paths]
    check_landed(files)
    check_circles(files)
    for checked in files:
        report.add(checked, root)
    return _sorted(report), files


def check_files(paths: Sequence[Path], root: Path | None) -> ValidationReport:
    """Check some files, each with the workspace given or the one that it lies in."""
    report = ValidationReport()
    known_at: dict[Path, KnownNames] = {}
    for path in dict.fromkeys(absolute(one) for one in paths):
        home = root or nearest_workspace(path.parent) or nearest_workspace(Path.cwd())
        if home is not None and home not in known_at:
            known_at[home] = _check_root(home, report)
        if path.name == FILE_NAME:
            if path.parent not in known_at:
                known_at[path.parent] = _check_root(path.parent, report)
            continue
        report.add(check_file(path, known_at[home] if home else KnownNames()), home)
        if home is None:
            message = f"this file is in no workspace: there is no {FILE_NAME} in any folder above"
            advice = "make one with headrace init DIR, or name one: --workspace DIR"
            report.problems.append(Problem(path, 1, 1, message, advice))
    return _sorted(report)


def _check_root(root: Path, report: ValidationReport) -> KnownNames:
    document, _ = check_workspace_file(root / FILE_NAME)
    report.files.append(document.path)
    report.problems += document.problems
    return known_of(document)


def _sorted(report: ValidationReport) -> ValidationReport:
    report.problems = in_order(report.problems)
    report.notes = in_order(report.notes)
    return report


def kind_files(root: Path) -> Iterator[Path]:
    """Give the YAML files under a folder that say `kind:`, in order of their paths."""
    return (path for path in yaml_files(root) if _has_kind(path))


def yaml_files(root: Path, folders_seen: list[Path] | None = None) -> Iterator[Path]:
    """Give the YAML files under a folder, in order of their paths.

    `folders_seen` gets all folders whose change may mean another answer.
    """
    proposed = proposed_files.proposed_under(root)
    seen: set[Path] = set()
    for folder, folders, files in os.walk(root):
        here = Path(folder)
        inside = [here / name for name in sorted(folders) if not is_hidden(name)]
        if folders_seen is not None:
            folders_seen += inside
        folders[:] = [one.name for one in inside if _is_ours(one)]
        for name in sorted(files):
            path = here / name
            if path.suffix in YAML_SUFFIXES and not name.startswith("."):
                if proposed:
                    seen.add(path)
                yield path
    yield from (one for one in proposed if one.suffix in YAML_SUFFIXES and one not in seen)


def is_hidden(name: str) -> bool:
    """Return whether a folder of that name is left out, as no file of the workspace is in it."""
    return name.startswith(".") or name in {"__pycache__", "node_modules"}


def _is_ours(folder: Path) -> bool:
    # A virtual environment's packages bring YAML of their own, and so does a workspace inside.
    return not (folder / "pyvenv.cfg").exists() and not (folder / FILE_NAME).exists()


def _has_kind(path: Path) -> bool:
    if path.name == FILE_NAME:
        return False
    try:
        text = proposed_files.read_bytes(path).decode("utf-8-sig", errors="replace")
    except OSError:
        return False
    return bool(_HAS_KIND.search(text)) and not _IS_FOREIGN.search(text)
