"""Files as they would be after a change that is not written yet.

Whoever checks the files of a workspace reads them through this module. So one code checks what is
on the disk and what somebody proposes.
"""

from __future__ import annotations

import os
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_NONE: Final[Mapping[Path, bytes]] = MappingProxyType({})
# Of this thread alone: `headrace up` follows the disk while a page checks what it proposes.
_proposed: ContextVar[Mapping[Path, bytes]] = ContextVar("proposed_files", default=_NONE)


@contextmanager
def proposed(files: Mapping[Path, bytes]) -> Iterator[None]:
    """Let this thread read these contents in place of the disk's, by absolute paths."""
    token = _proposed.set({_normal(path): content for path, content in files.items()})
    try:
        yield
    finally:
        _proposed.reset(token)


def proposed_under(folder: Path) -> list[Path]:
    """Return which files are proposed below a folder, in order."""
    return sorted(path for path in _proposed.get() if path.is_relative_to(_normal(folder)))


def is_proposed(path: Path) -> bool:
    """Return whether this thread reads a proposed content there."""
    files = _proposed.get()
    return bool(files) and _normal(path) in files


def read_bytes(path: Path) -> bytes:
    """Return what a file holds; OSError and ValueError are those of Path.read_bytes."""
    files = _proposed.get()
    content = files.get(_normal(path)) if files else None
    return path.read_bytes() if content is None else content


def read_text(path: Path) -> str:
    """Return the same as text in UTF-8, with line ends as Path.read_text has them."""
    text = read_bytes(path).decode("utf-8")
    return text.replace("\r\n", "\n").replace("\r", "\n")


def is_file(path: Path) -> bool:
    """Return whether there is such a file; OSError and ValueError are those of Path.is_file."""
    return is_proposed(path) or path.is_file()


def _normal(path: Path) -> Path:
    return Path(os.path.abspath(path))  # noqa: PTH100 - resolve() would follow symbolic links
