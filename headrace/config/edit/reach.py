"""What a proposed file may take from outside itself: no secret, and no file, that it has not yet.

A value from the environment or from a file (`${…}`) may become visible, as part of an expression or
of a topic's name. Who writes a workspace's files by hand may do that. Who saves them through a page
may leave such a value where it is, or use it where another file of the workspace uses it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeAlias

from headrace.config.common.section import KnownNames
from headrace.config.kind_files import check_file
from headrace.problems import Problem

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence
    from pathlib import Path

    from headrace.config.kind_files import CheckedFile
    from headrace.config.yaml.document import Document, KeyPath

    Use: TypeAlias = tuple[tuple[str, ...], str]

ADVICE: Final = "write it by hand into the file, or use it where another file of the workspace does"


def beyond_reach(
    root: Path, own: Collection[Path], files: Sequence[CheckedFile]
) -> Iterator[Problem]:
    """Give a problem for each use of something outside that is new with the proposal.

    `files` are those of the workspace as it would be, `own` the paths that are proposed.
    """
    changed = [one.document for one in files if one.document.path in own]
    if not any(list(_uses(one)) or one.named for one in changed):
        return
    others = [one.document for one in files if one.document.path not in own]
    before = [_on_disk(root, one.path) for one in changed]
    known = {use for one in (*others, *before) for use, _ in _uses(one)}
    named = {path for one in (*others, *before) for path in one.named}
    for document in changed:
        for use, path in _uses(document):
            if use not in known:
                place = document.at(document.position(path).index)
                yield Problem(document.path, *place, f"{use[1]} is new here", ADVICE)
        for one in sorted(document.named - named):
            if _leads_out(root, one):
                message = f"it names {one.name}, which is not in this workspace"
                yield Problem(document.path, 1, 1, message, "name a file of the workspace")


def _uses(document: Document) -> Iterator[tuple[Use, KeyPath]]:
    """Give where a value comes from outside: its key, without numbers, and what is written there."""
    for path, position in document.values.items():
        raw = position.raw
        if raw is None or not position.filled:
            continue
        is_of_topic = position.varies and not position.secret
        if not is_of_topic and "${" in raw.replace("$${", ""):
            yield (tuple("*" if isinstance(part, int) else part for part in path), raw), path


def _on_disk(root: Path, path: Path) -> Document:
    return check_file(path, KnownNames(root)).document


def _leads_out(root: Path, path: Path) -> bool:
    try:
        return path.is_file() and not path.resolve().is_relative_to(root.resolve())
    except (OSError, RuntimeError, ValueError):
        return True
