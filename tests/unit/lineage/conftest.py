from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from headrace.config.load import load_workspace
from tests.lineage_receiver import receiving
from tests.unit.config.workspaces import SOUND

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from headrace.config.workspace.workspace import Workspace
    from tests.lineage_receiver import Receiver


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with receiving() as found:
        yield found


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Workspace]:
    """Make a workspace whose lineage is set up so; JSON is YAML."""
    for name in ("OPENLINEAGE_URL", "OPENLINEAGE_CONFIG"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)

    def made(**lineage: object) -> Workspace:
        for name, text in SOUND.items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        if lineage:
            with (tmp_path / "headrace.yaml").open("a", encoding="utf-8") as file:
                file.write(f"\nlineage: {json.dumps(lineage)}\n")
        return load_workspace(tmp_path)

    return made
