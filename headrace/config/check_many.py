"""Checks thousands of files, with as many processes as there are cores."""

from __future__ import annotations

import multiprocessing
import os
import sys
import threading
from functools import partial
from typing import TYPE_CHECKING, Final

from headrace.config.kind_files import check_file

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from headrace.config.common.section import KnownNames
    from headrace.config.kind_files import CheckedFile

# Fewer files are checked before a second process would have started.
MANY: Final = 200
PIECES_EACH: Final = 4


def check_all(paths: Sequence[Path], known: KnownNames) -> list[CheckedFile]:
    """Return all files after their checks, in their order."""
    processes = min(len(os.sched_getaffinity(0)), len(paths) // MANY) if _may_fork() else 1
    if processes <= 1:
        return [check_file(path, known) for path in paths]
    with multiprocessing.get_context("fork").Pool(processes) as pool:
        size = -(-len(paths) // (processes * PIECES_EACH))
        return pool.map(partial(check_file, known=known), paths, size)


def _may_fork() -> bool:
    """Whether a fork of this process would be complete: a fork has none of its other threads."""
    return sys.platform == "linux" and threading.active_count() == 1
