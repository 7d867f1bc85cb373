"""What a replay keeps of itself: its plan, and how far it is. Enough to go on after any end."""

from __future__ import annotations

import json
import os
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from backfill.plan import Plan, plan_from_json
from headrace.errors import UsageError

if TYPE_CHECKING:
    from pathlib import Path


@dataclass(slots=True)
class Position:
    """How far a replay is, and what was measured up to there."""

    steps_done: int = 0
    newest_us: int | None = None
    max_disorder_us: int = 0
    rows: Counter[str] = field(default_factory=Counter)


class RunState:
    """The folder of one run."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._plan = folder / "plan.json"
        self._position = folder / "position.json"

    @property
    def lock(self) -> Path:
        """The file that whoever works on this run holds."""
        return self.folder / "lock"

    def begin(self, plan: Plan, target: str) -> None:
        """Keep the plan of a new run."""
        self.refuse_existing()
        self.folder.mkdir(parents=True, exist_ok=True)
        _write(self.folder / "target.json", json.dumps({"to": target}))
        _write(self._plan, plan.to_json())

    def refuse_existing(self) -> None:
        """Refuse a name that another run has."""
        if self._plan.exists():
            raise UsageError(
                f"run {self.folder.name} is already there",
                "go on with it: --resume; or choose another --run-id",
            )

    def keep(self, plan: Plan) -> Path:
        """Keep a plan unless this run has one; returns the file of the one that counts."""
        if not self._plan.exists():
            self.folder.mkdir(parents=True, exist_ok=True)
            _write(self._plan, plan.to_json())
        return self._plan

    def plan(self, target: str) -> Plan:
        """Return the plan of a run that is to go on."""
        if not self._plan.exists():
            raise UsageError(
                f"there is no run {self.folder.name} to resume",
                f"runs are kept in {self.folder.parent}; without --resume a new one begins",
            )
        held = json.loads((self.folder / "target.json").read_text(encoding="utf-8"))["to"]
        if held != target:
            raise UsageError(
                f"run {self.folder.name} goes to {held}, not to {target}", f"--to {held}"
            )
        return plan_from_json(self._plan.read_text(encoding="utf-8"))

    def position(self) -> Position:
        """Return where the run is; at its beginning where it has made no step."""
        if not self._position.exists():
            return Position()
        whole = json.loads(self._position.read_text(encoding="utf-8"))
        return Position(
            whole["steps_done"],
            whole["newest_us"],
            whole["max_disorder_us"],
            Counter(whole["rows"]),
        )

    def keep_certificate(self, text: str) -> None:
        """Keep what a run says of itself at its end."""
        _write(self.folder / "certificate.json", text)

    def advance(self, position: Position) -> None:
        """Keep how far the run is. The step's rows are safe before: a crash repeats a step."""
        whole = {
            "steps_done": position.steps_done,
            "newest_us": position.newest_us,
            "max_disorder_us": position.max_disorder_us,
            "rows": dict(position.rows),
        }
        _write(self._position, json.dumps(whole))


def _write(path: Path, text: str) -> None:
    temporary = path.with_suffix(".part")
    with temporary.open("w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(path)
