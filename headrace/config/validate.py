"""All files of a workspace, checked together."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from headrace.config.app.check_sources import check_landed
from headrace.config.common.section import KnownNames
from headrace.config.kind_files import CheckedFile, check_file, check_workspace_file, known_of
from headrace.config.load import nearest_workspace
from headrace.config.workspace.workspace import FILE_NAME
from headrace.problems import Problem, absolute, in_order, shown_path

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from headrace.config.yaml.document import Document

_HAS_KIND = re.compile(r"""^["']?kind["']?\s*:|^\s*\{[^#]*\bkind\b""", re.MULTILINE)
_IS_FOREIGN = re.compile(r"^apiVersion\s*:", re.MULTILINE)


@dataclass(slots=True)
class ValidationReport:
    """What was checked, and what was wrong with it."""

    files: list[Path] = field(default_factory=list)
    kinds: dict[str, int] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)
    _names: dict[tuple[Path | None, str, str], Path] = field(default_factory=dict)

    def add(self, checked: CheckedFile, root: Path | None) -> None:
        """Count a kind file in; a name that its kind has already is a problem."""
        document, kind = checked.document, checked.kind
        self.files.append(document.path)
        name = document.get("name")
        if kind is not None:
            self.kinds[kind] = self.kinds.get(kind, 0) + 1
            if isinstance(name, str):
                self._check_name(document, root, kind, name)
        self.problems += document.problems

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
    root: Path, check: Callable[[Path, KnownNames], CheckedFile] = check_file
) -> tuple[ValidationReport, list[CheckedFile]]:
    """Check the same; return the files, too, each with the problems that it has.

    Whoever knows a file from before may say how one is checked.
    """
    report = ValidationReport()
    known = _check_root(root, report)
    files = [check(path, known) for path in kind_files(root)]
    check_landed(files)
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
    return report


def kind_files(root: Path) -> Iterator[Path]:
    """Give the YAML files under a folder that say `kind:`, in order of their paths."""
    return (path for path in yaml_files(root) if _has_kind(path))


def yaml_files(root: Path) -> Iterator[Path]:
    """Give the YAML files under a folder, in order of their paths."""
    for folder, folders, files in os.walk(root):
        here = Path(folder)
        folders[:] = sorted(name for name in folders if _is_ours(here / name))
        for name in sorted(files):
            path = here / name
            if path.suffix in {".yaml", ".yml"} and not name.startswith("."):
                yield path


def _is_ours(folder: Path) -> bool:
    if folder.name.startswith(".") or folder.name in {"__pycache__", "node_modules"}:
        return False
    # A virtual environment's packages bring YAML of their own, and so does a workspace inside.
    return not (folder / "pyvenv.cfg").exists() and not (folder / FILE_NAME).exists()


def _has_kind(path: Path) -> bool:
    if path.name == FILE_NAME:
        return False
    try:
        text = path.read_bytes().decode("utf-8-sig", errors="replace")
    except OSError:
        return False
    return bool(_HAS_KIND.search(text)) and not _IS_FOREIGN.search(text)
