from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.unit.config.workspaces import SOUND, Files

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Files:
    """Make a workspace without mistakes, and go there."""
    monkeypatch.chdir(tmp_path)
    made = Files(tmp_path)
    for name, text in SOUND.items():
        made.write(name, text)
    return made
