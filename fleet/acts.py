"""What the control room of a workspace may do."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from fleet.file_acts import check_files, save_files
from headrace.http.acts import Acts

if TYPE_CHECKING:
    from collections.abc import Mapping

    from headrace.config.workspace.workspace import Workspace
    from headrace.http.file_rows import FilesCheck, FilesSaved


class FleetActs(Acts):
    """What `headrace up` and `headrace ui` do for a page, or for a program."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        # A check reads all files: beside jobs at work, one at a time is enough.
        self._checks = threading.Lock()

    def check_files(self, files: Mapping[str, str]) -> FilesCheck:
        """Return what the workspace would be with these texts."""
        with self._checks:
            return check_files(self._workspace.root, files)

    def save_files(self, files: Mapping[str, str], seen: Mapping[str, str]) -> FilesSaved:
        """Write all of the files, or none."""
        with self._checks:
            return save_files(self._workspace.root, files, seen)
