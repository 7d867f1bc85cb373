"""The command `backfill`, run inside the test: no second start of Python for each."""

from __future__ import annotations

import json
from collections import Counter
from datetime import datetime
from typing import TYPE_CHECKING, Any, NamedTuple

from backfill.command.cli import backfill
from headrace.contract import INGESTION_TS

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    import pytest

    from headrace.config.workspace.workspace import Workspace

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


def places(rows: Iterable[dict[str, Any]]) -> Counter[tuple[str, int, int]]:
    """Count each record by its table, its Kafka partition and its offset."""
    return Counter(
        (row["__source__"], row["__metadata__"]["partition"], row["__metadata__"]["offset"])
        for row in rows
    )


def worst_disorder_s(rows: Iterable[dict[str, Any]], time_column: str = INGESTION_TS) -> float:
    """Compare each record with the newest of the steps before its own: the bound, spelt out."""
    worst = 0.0
    newest_before = newest = "0000"
    step = -1
    for row in rows:
        if row["__step__"] != step:
            step, newest_before = row["__step__"], newest
        time = str(_at(row, time_column))
        if newest_before > time:
            worst = max(worst, _seconds(newest_before) - _seconds(time))
        newest = max(newest, time)
    return worst


def _at(row: Any, column: str) -> object:  # noqa: ANN401 - a JSON object, or what is in it
    for name in column.split("."):
        row = row[name]
    return row


def _seconds(text: str) -> float:
    return datetime.fromisoformat(text).timestamp()


def offsets_by_partition(rows: Sequence[dict[str, Any]]) -> dict[int, list[int]]:
    """Return each Kafka partition's offsets in the order in which they were delivered."""
    found: dict[int, list[int]] = {}
    for row in rows:
        place = row["__metadata__"]
        found.setdefault(place["partition"], []).append(place["offset"])
    return found
