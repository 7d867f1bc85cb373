"""A new workspace, copied from the template inside the package."""

from __future__ import annotations

from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Final

from headrace.demo.events import lines
from headrace.errors import Terminal

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable

# Named without the dot, so that it is not taken for one of this repository.
RENAMED: Final = {"gitignore": ".gitignore"}
SAMPLE_RECORDS: Final = 24
SAMPLE_SEED: Final = 1


def create_workspace(folder: Path) -> list[Path]:
    """Write a new workspace; an existing file is never written over."""
    template = resources.files("headrace.templates").joinpath("workspace")
    files = {folder / path: source for path, source in _walk(template, Path())}
    clashing = sorted(str(path) for path in files if path.exists())
    if clashing or (folder.exists() and not folder.is_dir()):
        there = ", ".join(clashing) or str(folder)
        raise Terminal(f"{there} is already there", "name another folder; nothing was written")
    for path, source in files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(source.read_bytes())
    records = folder / "records" / "playback.jsonl"
    records.parent.mkdir(parents=True, exist_ok=True)
    records.write_text("".join(lines(SAMPLE_RECORDS, SAMPLE_SEED)), encoding="utf-8")
    return [*files, records]


def _walk(source: Traversable, place: Path) -> list[tuple[Path, Traversable]]:
    found: list[tuple[Path, Traversable]] = []
    for entry in source.iterdir():
        name = RENAMED.get(entry.name, entry.name)
        if entry.name == "__pycache__":
            continue
        found += _walk(entry, place / name) if entry.is_dir() else [(place / name, entry)]
    return sorted(found, key=lambda pair: pair[0])
