"""The change itself: a shorter checkpoint is made beside the old one, then they change places.

Killed before the folder `rewind` has its name, nothing has changed. Once it has it, whoever works
on the state next does the rest first, by the plan in it: `finish` is done at the start of a run.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec
import structlog

from headrace import state_files
from headrace.errors import Terminal
from headrace.queries.checkpoint import kept
from stream_app.rewind import results
from stream_app.rewind.state_files import belongs_to_later

if TYPE_CHECKING:
    from headrace.config.workspace.workspace import Workspace
    from headrace.queries.checkpoint import Place

CHECKPOINT: Final = "checkpoint"
DRAFT: Final = "rewind.part"
READY: Final = "rewind"
SOURCES: Final = "sources.json"
PLAN: Final = "plan.json"
log = structlog.get_logger(__name__)


class Cut(msgspec.Struct, frozen=True):
    """After which batch to cut, what becomes of the results, where the old checkpoint is put."""

    batch: int
    aside: str
    results: results.Change


def sources_begun_with(state: Place) -> dict[str, str]:
    """Return which candidate each source was begun with: the checkpoint's offsets are of these."""
    advice = f"restore it; or start over with another name in the file, or remove {state}"
    return kept(state / SOURCES, dict[str, str], advice)


def prepare(state: Path, cut: Cut) -> None:
    """Make the shorter checkpoint, and decide that it shall be."""
    draft = state / DRAFT
    shutil.rmtree(draft, ignore_errors=True)
    checkpoint = state / CHECKPOINT

    def later(folder: str, names: list[str]) -> list[str]:
        return [one for one in names if _is_later(checkpoint, Path(folder, one), cut.batch)]

    shutil.copytree(checkpoint, draft / CHECKPOINT, ignore=later, copy_function=_link)
    state_files.write(draft / PLAN, msgspec.json.encode(cut))
    state_files.move(draft, state / READY)


def finish(state: Path, workspace: Workspace) -> None:
    """Do what was decided; nothing where nothing is. The state's lock is held by the caller."""
    ready, current = state / READY, state / CHECKPOINT
    if not (ready / PLAN).exists():
        return
    cut = state_files.read(ready / PLAN, Cut, f"remove {ready}: the rewind has changed nothing yet")
    aside = state / cut.aside
    if (ready / CHECKPOINT).exists():
        try:
            results.apply(workspace, cut.results, cut.batch, aside)
        except Terminal:
            # Refused whole: the old checkpoint is in its place, or comes back to it.
            if (aside / CHECKPOINT).exists() and not current.exists():
                state_files.move(aside / CHECKPOINT, current)
            _forget(state)
            raise
        state_files.make_folder(aside)
        if current.exists():
            state_files.move(current, aside / CHECKPOINT)
        state_files.move(ready / CHECKPOINT, current)
    _forget(state)
    log.info("rewound", batch=cut.batch, kept=str(aside))


def _forget(state: Path) -> None:
    """Let go of the plan, at once and not file by file."""
    shutil.rmtree(state / DRAFT, ignore_errors=True)
    state_files.move(state / READY, state / DRAFT)
    shutil.rmtree(state / DRAFT)


def _is_later(checkpoint: Path, file: Path, batch: int) -> bool:
    first = file.relative_to(checkpoint).parts[0]
    if first == "state":
        return belongs_to_later(file, batch)
    number = file.name.removeprefix(".").removesuffix(".crc")
    return first in {"offsets", "commits"} and number.isdecimal() and int(number) > batch


def _link(file: str, to: str) -> None:
    """Let a file be in both folders: Spark puts new files in the place of old ones."""
    try:
        os.link(file, to)
    except OSError:
        # A file system without links.
        shutil.copy2(file, to)
