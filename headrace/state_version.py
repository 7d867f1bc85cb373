"""The version of state: older state is read, and newer state is refused instead of called damaged."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from headrace import state_files
from headrace.errors import Terminal

if TYPE_CHECKING:
    from pathlib import Path

# Of what lies in a state_dir. It grows when an older headrace could no longer read what this one
# writes there. A folder without the file is of the time before there was one.
VERSION: Final = 1
FILE: Final = "version"


class WrittenByNewer(Terminal):
    """State of a version that this headrace does not know yet."""

    def __init__(self, what: str, found: int, known: int) -> None:
        super().__init__(
            f"{what} was written by a newer headrace: it has version {found}, and this one reads "
            f"versions up to {known}",
            "nothing was changed: start the newer headrace",
        )


def require_known(state_dir: Path) -> None:
    """Refuse a state_dir that a newer headrace has written; a new one gets its version."""
    refuse_newer(state_dir)
    path = state_dir / FILE
    if not path.exists():
        state_files.write(path, f"{VERSION}\n".encode())


def refuse_newer(state_dir: Path) -> None:
    """Refuse a state_dir that a newer headrace has written. It only reads.

    For commands that change what is there, but begin nothing in it.
    """
    path = state_dir / FILE
    try:
        said = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return
    try:
        found = int(said)
    except ValueError:
        raise Terminal(
            f"{path} is damaged: it should hold the version of the state_dir, a number",
            f"write {VERSION} into it if this headrace has worked with this folder",
        ) from None
    if found > VERSION:
        raise WrittenByNewer(f"state_dir {state_dir}", found, VERSION)
