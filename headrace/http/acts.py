"""What the control room may do for whoever looks at it."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from headrace.http.file_rows import FilesCheck, FilesSaved


class Acts:
    """What a command does when a page or a program asks for it, in the server's threads.

    Whoever can do something overrides what it is about; the others do not offer it, and say None.
    HeadraceError says why something cannot be done.
    """

    def check_files(self, files: Mapping[str, str]) -> FilesCheck | None:  # noqa: ARG002 - who can do it overrides it
        """Return what the workspace would be with these texts, by paths below it. Nothing is written."""
        return None

    def save_files(
        self,
        files: Mapping[str, str],  # noqa: ARG002 - as above
        seen: Mapping[str, str],  # noqa: ARG002 - as above
    ) -> FilesSaved | None:
        """Write all of the files, or none: `seen` are the hashes of what they held when checked."""
        return None
