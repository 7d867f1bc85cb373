"""Where a stream keeps what it knows between runs, below the workspace's state_dir."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from headrace.contract import QUARANTINE

if TYPE_CHECKING:
    from pathlib import Path

    from headrace.config.workspace.workspace import Workspace


@dataclass(frozen=True, slots=True)
class StreamState:
    """The folders of one stream."""

    root: Path

    def member(self, name: str) -> Path:
        """Return the folder of an output, or of the quarantine."""
        return self.root / QUARANTINE if name == QUARANTINE else self.root / "outputs" / name

    def lock(self, name: str) -> Path:
        """Return the file that whoever runs a member holds."""
        return self.member(name) / "lock"

    def checkpoint(self, group: str) -> Path:
        """Return the Spark checkpoint of a query."""
        return self.root / "queries" / group / "checkpoint"


def stream_state(workspace: Workspace, stream: str) -> StreamState:
    """Return where a stream's state is."""
    return StreamState(workspace.state_dir / "router" / stream)
