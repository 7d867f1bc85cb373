"""Files that a page or a program proposes: checked as `headrace validate` does, and saved."""

from __future__ import annotations

from typing import TYPE_CHECKING

import structlog

from headrace.config.edit.proposal import propose
from headrace.config.edit.saving import FilesChanged, save
from headrace.http.file_rows import FileChange, FileProblem, FilesCheck, FilesSaved

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from headrace.config.edit.proposal import Proposal
    from headrace.problems import Problem

log = structlog.get_logger(__name__)


def check_files(root: Path, files: Mapping[str, str]) -> FilesCheck:
    """Return what the workspace would be with these texts."""
    return check_of(propose(root, files))


def save_files(root: Path, files: Mapping[str, str], seen: Mapping[str, str]) -> FilesSaved:
    """Write all of the files, or none."""
    return save_proposal(propose(root, files), seen)


def save_proposal(proposal: Proposal, seen: Mapping[str, str]) -> FilesSaved:
    """Write what was proposed, or nothing: then with the check of it beside the files of now."""
    check = check_of(proposal)
    if proposal.problems:
        return FilesSaved(check=check)
    try:
        saved = save(proposal, seen)
    except FilesChanged as changed:
        texts = {one.path: one.content.decode() for one in proposal.files}
        return FilesSaved(changed=changed.paths, check=check_files(proposal.root, texts))
    log.info("files were saved over HTTP", files=saved)
    return FilesSaved(saved, check=check)


def check_of(proposal: Proposal) -> FilesCheck:
    """Return a proposal as pages and programs see it."""
    return FilesCheck(
        not proposal.problems,
        problem_rows(proposal.problems),
        problem_rows(proposal.others),
        problem_rows(proposal.notes),
        [FileChange(one.path, one.was is None, one.hash, one.diff) for one in proposal.files],
    )


def problem_rows(problems: Iterable[Problem]) -> list[FileProblem]:
    """Return mistakes as pages and programs see them."""
    return [
        FileProblem(one.shown_path, one.line, one.column, one.message, one.suggestion or None)
        for one in problems
    ]
