"""Decision records: numbers without holes, and under each title a date and a state."""

from __future__ import annotations

import re
from pathlib import Path

FOLDER = Path(__file__).parents[2] / "docs" / "decisions"
STATE = re.compile(r"Date: \d{4}-\d\d-\d\d\. State: (accepted|not used|replaced by (\d+))\.")


def test_decisions_are_numbered_without_holes_each_with_a_date_and_a_state() -> None:
    paths = sorted(FOLDER.glob("*.md"))
    assert [int(path.name[:4]) for path in paths] == list(range(1, len(paths) + 1))
    for number, path in enumerate(paths, start=1):
        title, _, line = path.read_text().splitlines()[:3]
        assert title.startswith(f"# {number}. "), path.name
        state = STATE.fullmatch(line)
        assert state, f"{path.name}: {line}"
        assert state[2] is None or int(state[2]) <= len(paths)
