"""What was found on this machine into the corpus: the shortest inputs that run lines of their own."""

from __future__ import annotations

import hashlib
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from types import FrameType

    from _typeshed import TraceFunction

    from tests.fuzz.target import Target

ROOT: Final = Path(__file__).parents[2]
# What is generated has no file.
OURS: Final = ("<headrace ", *(f"{ROOT}/{name}/" for name in ("headrace", "router", "lake_writer")))

Line: TypeAlias = tuple[str, int]


def keep(target: Target, found: Path) -> list[Path]:
    """Add to the target's corpus what runs lines that no input of it does; return the new files."""
    covered: set[Line] = set()
    for value in target.inputs():
        covered |= lines_of(target.run, value)
    added: list[Path] = []
    target.corpus.mkdir(parents=True, exist_ok=True)
    for value in _by_size(found.iterdir()):
        own = lines_of(target.run, value) - covered
        if own:
            covered |= own
            added.append(target.corpus / hashlib.sha256(value).hexdigest()[:16])
            added[-1].write_bytes(value)
    return added


def lines_of(run: Callable[[bytes], object], value: bytes) -> set[Line]:
    """Return the lines of our own code, generated ones included, that run for an input."""
    lines: set[Line] = set()

    def trace(frame: FrameType, event: str, _argument: object) -> TraceFunction | None:
        if not frame.f_code.co_filename.startswith(OURS):
            return None
        if event == "line":
            lines.add((frame.f_code.co_filename, frame.f_lineno))
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        run(value)
    finally:
        sys.settrace(before)
    return lines


def _by_size(files: Iterable[Path]) -> list[bytes]:
    return sorted((one.read_bytes() for one in files), key=lambda value: (len(value), value))
