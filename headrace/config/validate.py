"""All files of a workspace, checked together."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from headrace.config.checks_candidates import check_landed
from headrace.config.kinds import check_workspace_file, examine, known_of
from headrace.config.load import nearest_workspace
from headrace.config.problems import Problem, absolute, in_order, shown_path
from headrace.config.sheet import Known
from headrace.config.workspace import FILE_NAME

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

from headrace.config.kinds import Examined

_HAS_KIND = re.compile(r"""^["']?kind["']?\s*:|^\s*\{[^#]*\bkind\b""", re.MULTILINE)
_IS_FOREIGN = re.compile(r"^apiVersion\s*:", re.MULTILINE)


@dataclass(slots=True)
class Findings:
    """What was checked, and what was wrong with it."""

    files: list[Path] = field(default_factory=list)
    kinds: dict[str, int] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)
    _names: dict[tuple[Path | None, str, str], Path] = field(default_factory=dict)

    def add(self, examined: Examined, root: Path | None) -> None:
        """Count a kind file in; a name that its kind has already is a problem."""
        document = examined.document
        self.files.append(document.path)
        self.problems += document.problems
        if examined.kind is None:
            return
        self.kinds[examined.kind] = self.kinds.get(examined.kind, 0) + 1
        name = document.get("name")
        if not isinstance(name, str):
            return
        other = self._names.setdefault((root, examined.kind, name), document.path)
        if other != document.path:
            line, column = document.at(document.place(("name",)).index)
            shown = document.place(("name",)).raw
            message = (
                f'a second {examined.kind} of the name "{shown}": they would share their state'
            )
            advice = f"the other is {shown_path(other)}"
            self.problems.append(Problem(document.path, line, column, message, advice))


def check_workspace(root: Path) -> Findings:
    """Check headrace.yaml and every file under it that has a kind."""
    findings = Findings()
    known = _check_root(root, findings)
    files = [examine(path, known) for path in kind_files(root)]
    check_landed(files)
    for examined in files:
        findings.add(examined, root)
    return _sorted(findings)


def check_files(paths: Sequence[Path], root: Path | None) -> Findings:
    """Check some files, each with the workspace given or the one that it lies in."""
    findings = Findings()
    known_at: dict[Path, Known] = {}
    for path in dict.fromkeys(absolute(one) for one in paths):
        home = root or nearest_workspace(path.parent) or nearest_workspace(Path.cwd())
        if home is not None and home not in known_at:
            known_at[home] = _check_root(home, findings)
        if path.name == FILE_NAME:
            if path.parent not in known_at:
                known_at[path.parent] = _check_root(path.parent, findings)
            continue
        findings.add(examine(path, known_at[home] if home else Known()), home)
        if home is None:
            message = f"this file is in no workspace: there is no {FILE_NAME} in any folder above"
            advice = "make one with headrace init DIR, or name one: --workspace DIR"
            findings.problems.append(Problem(path, 1, 1, message, advice))
    return _sorted(findings)


def _check_root(root: Path, findings: Findings) -> Known:
    document, _ = check_workspace_file(root / FILE_NAME)
    findings.files.append(document.path)
    findings.problems += document.problems
    return known_of(document)


def _sorted(findings: Findings) -> Findings:
    findings.problems = in_order(findings.problems)
    return findings


def kind_files(root: Path) -> Iterator[Path]:
    """Give the YAML files under a folder that say `kind:`, in order of their paths."""
    for folder, folders, files in os.walk(root):
        here = Path(folder)
        folders[:] = sorted(name for name in folders if _is_ours(here / name))
        for name in sorted(files):
            path = here / name
            if path.suffix in {".yaml", ".yml"} and not name.startswith(".") and _has_kind(path):
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
