"""What the tests of the stages share: streams and lake tables in the shared workspace."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.integration.pipelines import Pipelines

if TYPE_CHECKING:
    from headrace.config.workspace.workspace import Workspace


@pytest.fixture
def pipelines(workspace: Workspace) -> Pipelines:
    """Streams and tables of a test's own, over the shared broker."""
    return Pipelines(workspace)
