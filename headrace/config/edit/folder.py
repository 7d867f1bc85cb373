"""A workspace's folder, in which no path and no symbolic link leads out.

Each folder on the way to a file is opened by its name in the one before it, and links are not
followed. So nobody can exchange a folder for a link between a check and a write.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
import stat
from typing import TYPE_CHECKING, Final
from uuid import uuid4

from headrace.config.common.scalars import is_name
from headrace.config.validate import is_hidden
from headrace.config.workspace.workspace import FILE_NAME
from headrace.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

YAML: Final = (".yaml", ".yml")
SCHEMA: Final = ".avsc"
MOST_FOLDERS: Final = 8
# A file that is larger was written by no person.
MOST_BYTES: Final = 2**20
_PART: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_. -]{0,99}")
_FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_DRAFT: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


class NotEditable(UsageError):
    """A path that no page and no program may write."""


def check_path(path: str) -> tuple[str, ...]:
    """Return the parts of a path below a workspace; NotEditable says what is wrong with it.

    It may be a stream, a lake table or a schema, in folders that are not hidden.
    """
    parts = tuple(path.split("/"))
    shown = path if path.isprintable() and len(path) < 200 else ascii(path[:200])
    if len(parts) > MOST_FOLDERS or not all(_is_plain(part) for part in parts):
        raise NotEditable(
            f"{shown} is not a path of a workspace's file",
            "write it as streams/NAME.yaml, relative to the workspace, without .. and hidden names",
        )
    suffix = os.path.splitext(parts[-1])[1]  # noqa: PTH122 - a text, and no file yet
    if parts[-1] == FILE_NAME or suffix not in {*YAML, SCHEMA}:
        raise NotEditable(
            f"{shown} is edited by hand",
            "only streams and lake tables (.yaml) and Avro schemas (.avsc) are saved from here",
        )
    return parts


def _is_plain(part: str) -> bool:
    return _PART.fullmatch(part) is not None and not is_hidden(part)


def check_new_name(parts: tuple[str, ...]) -> None:
    """Refuse a new file whose name is not one that a stream may have."""
    name = parts[-1].rpartition(".")[0]
    if not is_name(name):
        raise NotEditable(
            f"a new file may not have the name {parts[-1]}",
            "use a-z, 0-9, _ and -, as for the name of a stream",
        )


class Folder:
    """An open folder of a workspace."""

    def __init__(self, handle: int) -> None:
        self._handle = handle

    def read(self, name: str) -> bytes | None:
        """Return what a file holds, None where there is none."""
        try:
            handle = os.open(name, _FILE, dir_fd=self._handle)
        except FileNotFoundError:
            return None
        except OSError as problem:
            raise _not_plain(name, problem) from None
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            os.close(handle)
            raise NotEditable(f"{name} is not a file", "give the new file another name")
        with os.fdopen(handle, "rb") as file:
            content = file.read(MOST_BYTES + 1)
        if len(content) > MOST_BYTES:
            raise NotEditable(f"{name} is larger than 1 MiB", "edit it by hand")
        return content

    def draft(self, name: str, content: bytes) -> str:
        """Write a file's content beside it, under a hidden name, and return that."""
        draft = f".{name[:80]}.{uuid4().hex}.part"
        handle = os.open(draft, _DRAFT, 0o666, dir_fd=self._handle)
        with os.fdopen(handle, "wb") as file:
            with contextlib.suppress(OSError):
                there = os.stat(name, dir_fd=self._handle, follow_symlinks=False)
                os.fchmod(file.fileno(), stat.S_IMODE(there.st_mode))
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        return draft

    def place(self, draft: str, name: str, *, is_new: bool) -> None:
        """Put a draft where it belongs; FileExistsError if another one was there first."""
        here = self._handle
        if is_new:
            os.link(draft, name, src_dir_fd=here, dst_dir_fd=here, follow_symlinks=False)
        else:
            os.replace(draft, name, src_dir_fd=here, dst_dir_fd=here)
        os.fsync(here)

    def remove(self, name: str) -> None:
        """Remove a file that may be gone already."""
        with contextlib.suppress(FileNotFoundError):
            os.unlink(name, dir_fd=self._handle)


@contextlib.contextmanager
def folder_of(root: int, parts: tuple[str, ...], *, make: bool = False) -> Iterator[Folder | None]:
    """Open the folder that a file is in; None where there is none, and it is not to be made."""
    here = os.dup(root)
    try:
        for part in parts[:-1]:
            try:
                if make:
                    with contextlib.suppress(FileExistsError):
                        os.mkdir(part, dir_fd=here)
                        os.fsync(here)
                inner = os.open(part, _FOLDER, dir_fd=here)
            except FileNotFoundError:
                yield None
                return
            except OSError as problem:
                raise _not_plain(part, problem) from None
            os.close(here)
            here = inner
            _check_own(here, part)
        yield Folder(here)
    finally:
        os.close(here)


@contextlib.contextmanager
def opened(root: Path) -> Iterator[int]:
    """Open the workspace's own folder, which may be reached by a link."""
    handle = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield handle
    finally:
        os.close(handle)


def _check_own(folder: int, name: str) -> None:
    """Refuse folders whose files are not the workspace's own."""
    for foreign in (FILE_NAME, "pyvenv.cfg"):
        with contextlib.suppress(FileNotFoundError):
            os.stat(foreign, dir_fd=folder, follow_symlinks=False)
            raise NotEditable(
                f"{name} has a {foreign}, so its files are not of this workspace",
                "choose another folder",
            )


def _not_plain(name: str, problem: OSError) -> NotEditable:
    reasons = {
        errno.ELOOP: "is a symbolic link, and those are not followed from here",
        errno.ENOTDIR: "is a file or a symbolic link, and no folder",
    }
    reason = reasons.get(problem.errno or 0, f"cannot be opened ({problem.strerror})")
    return NotEditable(f"{name} {reason}", "choose another path, or edit the file by hand")
