"""Checks of files that are as they were: a form asks again with each key that is pressed."""

from __future__ import annotations

import os
import threading
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, TypeAlias

from headrace import proposed_files
from headrace.config.kind_files import check_file
from headrace.config.validate import checked_workspace

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from headrace.config.common.section import KnownNames
    from headrace.config.kind_files import CheckedFile
    from headrace.config.validate import ValidationReport
    from headrace.problems import Problem

    Stamp: TypeAlias = tuple[int, int, int, int] | None

# A file that changed so recently may change again and keep its time: the kernel's clock ticks.
SETTLED_NS: Final = 2 * 10**9


@dataclass(frozen=True, slots=True)
class _Known:
    """A file after its checks, and the stamps of all that was read for it."""

    checked: CheckedFile
    problems: tuple[Problem, ...]
    names: KnownNames
    stamps: Mapping[Path, Stamp]


@dataclass(slots=True)
class KnownChecks:
    """Checks a workspace as `headrace validate` does, and each file again only if it has changed."""

    _known: dict[Path, _Known] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def workspace(self, root: Path) -> tuple[ValidationReport, Sequence[CheckedFile]]:
        """Return the report, and the files with the problems that each has by itself."""
        with self._lock:
            report, files = checked_workspace(root, self._check)
            there = {one.document.path for one in files}
            self._known = {path: one for path, one in self._known.items() if path in there}
            return report, files

    def _check(self, path: Path, names: KnownNames) -> CheckedFile:
        last = self._known.get(path)
        if last is not None and _is_as_it_was(last, names):
            # What was found beside other files is found again, or is not so any more.
            last.checked.document.problems[:] = last.problems
            return last.checked
        began_ns = time.time_ns()
        checked = check_file(path, names)
        stamps = {one: _stamp(one) for one in (path, *checked.document.named)}
        is_settled = all(
            one is None or began_ns - max(one[:2]) > SETTLED_NS for one in stamps.values()
        )
        if is_settled and not any(map(proposed_files.is_proposed, stamps)):
            self._known[path] = _Known(checked, tuple(checked.document.problems), names, stamps)
        return checked


def _is_as_it_was(last: _Known, names: KnownNames) -> bool:
    return last.names == names and all(
        stamp == _stamp(path) and not proposed_files.is_proposed(path)
        for path, stamp in last.stamps.items()
    )


def _stamp(path: Path) -> Stamp:
    """Return what changes when a file does; None where there is none."""
    try:
        found = os.stat(path)  # noqa: PTH116 - a Path's own is slower, and there are many
    except (OSError, ValueError):
        return None
    return found.st_mtime_ns, found.st_ctime_ns, found.st_size, found.st_ino
