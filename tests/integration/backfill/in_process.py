"""The command `backfill`, run inside the test: no second start of Python for each."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NamedTuple

from backfill.cli import backfill

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    import pytest

    from headrace.config.workspace import Workspace

PERIOD = ["--start-ts", "2026-03-01", "--end-ts", "2026-03-02"]


class Done(NamedTuple):
    """How a command ended."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:  # noqa: ANN401 - what a command prints
        return json.loads(self.out)


class Commands:
    """Runs `backfill …` in a workspace; what a user is told as an error is raised."""

    def __init__(self, workspace: Workspace, capsys: pytest.CaptureFixture[str]) -> None:
        self.workspace = workspace
        self._capsys = capsys

    def __call__(self, *words: str | Path) -> Done:
        self._capsys.readouterr()
        place = ["--workspace", str(self.workspace.root)]
        code = backfill.main([*map(str, words), *place], standalone_mode=False)
        out, err = self._capsys.readouterr()
        return Done(code or 0, out, err)

    def replay(self, table: str, to: str, *more: str) -> Done:
        return self("replay", "--table", table, "--to", to, *PERIOD, "-o", "json", *more)


def rows_in(folder: Path) -> list[dict[str, Any]]:
    """Return the rows of a replay in the order in which they were delivered."""
    return [
        json.loads(line)
        for path in sorted(folder.glob("step-*.jsonl"))
        for line in path.read_text().splitlines()
    ]


def offsets_by_partition(rows: Sequence[dict[str, Any]]) -> dict[int, list[int]]:
    """Return each Kafka partition's offsets in the order in which they were delivered."""
    found: dict[int, list[int]] = {}
    for row in rows:
        place = row["__metadata__"]
        found.setdefault(place["partition"], []).append(place["offset"])
    return found
