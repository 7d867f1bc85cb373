"""What the control room of a workspace may do."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.http.acts import Acts

if TYPE_CHECKING:
    from headrace.config.workspace.workspace import Workspace


class FleetActs(Acts):
    """What `headrace up` and `headrace ui` do for a page, or for a program."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
