"""What `headrace up` leaves for `headrace status`: which of its jobs fail, and why."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Final

from headrace import state_files
from headrace.locks import holder

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from headrace.config.workspace.workspace import Workspace

FOLDER: Final = "up"


@dataclass(frozen=True, slots=True)
class JobProblem:
    """Why something does not run; `part` is a stream's output, None where it is all of it."""

    kind: str
    name: str
    part: str | None
    problem: str

    def is_about(self, kind: str, name: str, part: str | None) -> bool:
        """Whether it is about that, or about the whole of which that is a part."""
        return (kind, name) == (self.kind, self.name) and self.part in {None, part}


def lock_of(workspace: Workspace) -> Path:
    """Return the file that `headrace up` holds while it runs."""
    return workspace.state_dir / FOLDER / "lock"


def write_problems(workspace: Workspace, problems: Sequence[JobProblem]) -> None:
    """Keep what is wrong now; whoever reads it sees all or nothing of it."""
    text = json.dumps([asdict(one) for one in problems])
    state_files.write(_file(workspace), text.encode(), lasting=False)


def problems(workspace: Workspace) -> list[JobProblem]:
    """Return what is wrong with the jobs of the `headrace up` that runs, if one does."""
    if holder(lock_of(workspace)) is None:
        return []
    try:
        return [JobProblem(**one) for one in json.loads(_file(workspace).read_text())]
    except (OSError, ValueError, TypeError):
        return []


def _file(workspace: Workspace) -> Path:
    return workspace.state_dir / FOLDER / "problems.json"
