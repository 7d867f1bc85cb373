"""Detects changed files among thousands, without reading them."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, TypeAlias

from headrace.config.validate import yaml_files

if TYPE_CHECKING:
    from pathlib import Path

    Stamp: TypeAlias = tuple[int, int, int] | None

# A folder that changed so recently may change again and keep its time: the kernel's clock ticks.
UNSETTLED_NS: Final = 2 * 10**9


@dataclass(slots=True)
class YamlFiles:
    """The YAML files under a folder. Folders are read again when they have changed."""

    root: Path
    _folders: dict[Path, Stamp] = field(default_factory=dict)
    _files: list[Path] = field(default_factory=list)
    _is_settled: bool = False

    def now(self) -> list[Path]:
        """Return the files that exist now."""
        if not self._is_settled or any(stamp(one) != known for one, known in self._folders.items()):
            seen = [self.root]
            self._files = list(yaml_files(self.root, seen))
            folders = {one: stamp(one) for one in seen}
            newest = max((one[0] for one in folders.values() if one is not None), default=0)
            is_old = time.time_ns() - newest > UNSETTLED_NS
            # What came between a file list and its stamps is in the next list.
            self._is_settled = is_old and folders == self._folders
            self._folders = folders
        return self._files


def stamp(path: Path) -> Stamp:
    """Return what changes when a file does; None where there is none."""
    try:
        found = os.stat(path)  # noqa: PTH116 - a Path's own is slower, and there are many
    except (OSError, ValueError):
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino
