"""A stream of the workspace, and where it comes from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from headrace.config.stream.effective import Effective
    from headrace.config.workspace.workspace import Workspace


@dataclass(frozen=True, slots=True)
class StreamOrigin:
    """A stream as a deployment runs it. `topic` is its own where its file is for many topics."""

    stream: Effective
    workspace: Workspace
    path: Path
    topic: str | None = None
    region: str | None = None
