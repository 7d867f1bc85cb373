"""What `headrace up` leaves for `status` and `top`: which jobs fail and why, and where it serves."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Final

from headrace import state_files
from headrace.errors import UsageError
from headrace.http.address import parse_address
from headrace.locks import holder

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from headrace.config.workspace.workspace import Workspace
    from headrace.http.address import Address

FOLDER: Final = "up"
FILES: Final = "files"
PROBLEMS: Final = "problems.json"
ADDRESS: Final = "http.json"


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


def folder_of(workspace: Workspace, only: Path | None = None) -> Path:
    """Return where `headrace up` keeps what it says; so does what runs one file for many topics."""
    folder = workspace.state_dir / FOLDER
    if only is None:
        return folder
    # Its path is too long for a name.
    return folder / FILES / hashlib.sha256(str(only).encode()).hexdigest()[:16]


def lock_in(folder: Path) -> Path:
    """Return the file that whoever runs holds."""
    return folder / "lock"


def write_problems(folder: Path, problems: Sequence[JobProblem]) -> None:
    """Keep what is wrong now; whoever reads it sees all or nothing of it."""
    text = json.dumps([asdict(one) for one in problems])
    state_files.write(folder / PROBLEMS, text.encode(), lasting=False)


def problems(workspace: Workspace) -> list[JobProblem]:
    """Return what is wrong with the jobs of what runs here: `headrace up`, or files for many topics."""
    up = folder_of(workspace)
    return [one for folder in (up, *(up / FILES).glob("*")) for one in _problems(folder)]


def _problems(folder: Path) -> list[JobProblem]:
    if holder(lock_in(folder)) is None:
        return []
    try:
        return [JobProblem(**one) for one in json.loads((folder / PROBLEMS).read_text())]
    except (OSError, ValueError, TypeError):
        return []


def write_address(folder: Path, address: Address | None) -> None:
    """Keep where whoever runs serves HTTP; None where it does not."""
    text = json.dumps(None if address is None else str(address))
    state_files.write(folder / ADDRESS, text.encode(), lasting=False)


def served_at(workspace: Workspace) -> Address | None:
    """Return where the `headrace up` of a workspace serves, if one runs here that we may ask."""
    folder = folder_of(workspace)
    if holder(lock_in(folder)) is None:
        return None
    try:
        said = json.loads((folder / ADDRESS).read_text())
        return None if said is None else parse_address(said)
    except (OSError, ValueError, UsageError):
        # It is just starting; or it is open to other machines, and we have no token.
        return None
