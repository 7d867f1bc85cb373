"""What `headrace ui` shows before anything has answered, and what it keeps of the files."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fleet import status_facts
from fleet.status_facts import StatusFacts
from headrace.config.load import load_workspace
from tests.unit.fleet import files

if TYPE_CHECKING:
    from pathlib import Path

    import pytest


def test_where_nothing_has_answered_yet_it_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(status_facts, "overall", lambda *_: None)
    facts = StatusFacts(load_workspace(files.write(tmp_path)), None)
    (only,) = facts.resting()
    assert "have not answered yet" in only.problem
    assert (facts.streams(), facts.declared()) == ([], ())
