"""Files that a later start reads: each is there whole, or not at all, and outlasts a lost machine.

All stages write their state through this module. A file is written under a name of its own and
then takes the place of the old one; folders that are made on the way are synced as well. So a
crash leaves the old file or the new one. What a log gains at its end may be torn by a crash, and
whoever reads it cuts that off.
"""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
from typing import TYPE_CHECKING, BinaryIO, Final, Literal, TypeVar
from uuid import uuid4

import msgspec

from headrace.errors import Terminal

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

T = TypeVar("T")
Moment = Literal["before", "half", "after"]
# Hidden, as drafts are: no folder of state begins with a dot.
REMOVED: Final = ".removed."


class _Watch:
    """Called at each write. Tests end the process here; nobody else sets it."""

    tell: Callable[[Moment, Path], None] | None = None


def watched_by(tell: Callable[[Moment, Path], None] | None) -> None:
    """Let a test know of every write in this process: before it, half way, and after it."""
    _Watch.tell = tell


def write(path: Path, content: bytes, *, lasting: bool = True) -> None:
    """Put a file in its place; when this returns, no crash can take it back.

    What is not `lasting` is whole at all times too, but may be the old file after a lost machine.
    """
    with writing(path, lasting=lasting) as file:
        file.write(content)


@contextlib.contextmanager
def writing(path: Path, *, lasting: bool = True) -> Iterator[BinaryIO]:
    """Like `write`, for what is written piece by piece; an error leaves the old file."""
    with _drafted(path, lambda draft: draft.replace(path), lasting=lasting) as file:
        yield file


def write_first(path: Path, content: bytes) -> bool:
    """Put a file in its place unless another was first; whether it is this one."""
    make_folder(path.parent)
    try:
        with _drafted(path, path.hardlink_to) as file:
            file.write(content)
    except FileExistsError:
        return False
    return True


@contextlib.contextmanager
def _drafted(
    path: Path, place: Callable[[Path], object], *, lasting: bool = True
) -> Iterator[BinaryIO]:
    """Write a draft of a file, and let `place` put it where it belongs."""
    _tell("before", path)
    make_folder(path.parent, lasting=lasting)
    # Tasks that do the same work twice, and readers of the same table, write at the same time.
    draft = path.with_name(f".{path.name}.{uuid4().hex}.part")
    try:
        with draft.open("xb") as file:
            yield file
            file.flush()
            if lasting:
                os.fsync(file.fileno())
        _tell("half", path)
        place(draft)
    finally:
        draft.unlink(missing_ok=True)
    if lasting:
        _sync_folder(path.parent)
    _tell("after", path)


def append(path: Path, length: int, content: bytes) -> int:
    """Add to a log of that length, and cut off what an unfinished try has left behind it.

    Returns the new length; when this returns, no crash can take the content back.
    """
    _tell("before", path)
    with path.open("r+b") as file:
        file.truncate(length)
        file.seek(length)
        if _Watch.tell is not None:
            file.write(content[: len(content) // 2])
            file.flush()
            _tell("half", path)
            file.seek(length)
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
        end = file.tell()
    _tell("after", path)
    return end


def cut(path: Path, length: int) -> None:
    """Take off what lies behind that length."""
    _tell("before", path)
    with path.open("r+b") as file:
        file.truncate(length)
        os.fsync(file.fileno())
    _tell("after", path)


def move(source: Path, target: Path) -> None:
    """Rename a file or a folder; when this returns, no crash can take it back."""
    _tell("before", target)
    source.replace(target)
    for folder in {target.parent, source.parent}:
        _sync_folder(folder)
    _tell("after", target)


def remove_folder(folder: Path) -> None:
    """Remove a folder at once, and not file by file: what is left of a killed removal is no folder.

    The next removal beside it takes away what a killed one has left.
    """
    if folder.exists():
        move(folder, folder.with_name(f"{REMOVED}{folder.name}.{uuid4().hex}"))
    for one in folder.parent.glob(f"{REMOVED}*"):
        shutil.rmtree(one, ignore_errors=True)


def bring(source: Path, target: Path) -> None:
    """Move a file that may lie on another disk; it is never in neither place."""
    make_folder(target.parent)
    try:
        move(source, target)
    except OSError as problem:
        if problem.errno != errno.EXDEV:
            raise
        with source.open("rb") as old, writing(target) as new:
            shutil.copyfileobj(old, new)
        source.unlink()


def make_folder(folder: Path, *, lasting: bool = True) -> None:
    """Make a folder and those above it; each is synced in the folder that it is made in."""
    missing = []
    while not folder.exists():
        missing.append(folder)
        folder = folder.parent
    for one in reversed(missing):
        one.mkdir(exist_ok=True)
        if lasting:
            _sync_folder(one.parent)


def read(path: Path, kind: type[T], advice: str) -> T:
    """Read a file of JSON; one that cannot be read is named, with what to do about it."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=kind)
    except (OSError, ValueError, msgspec.MsgspecError) as problem:
        raise Terminal(f"{path} cannot be read: {problem}", advice) from None


def find(path: Path, kind: type[T]) -> T | None:
    """Read a file of JSON that was written here; None where there is none."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=kind)
    except FileNotFoundError:
        return None
    except (ValueError, msgspec.MsgspecError) as problem:
        # Whatever is written here is there whole.
        raise Terminal(
            f"{path} is damaged: {problem}", "bring it back from a backup, or begin without it"
        ) from None


def _sync_folder(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _tell(moment: Moment, path: Path) -> None:
    if _Watch.tell is not None:
        _Watch.tell(moment, path)
