"""What a command may do with replays, for tests of its pages: it keeps what it was asked."""

from __future__ import annotations

import json
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from headrace.http.acts import Acts
from headrace.http.replay_rows import (
    AppChoice,
    CandidateRow,
    ReplayChoices,
    ReplayDetail,
    ReplayedSource,
    TableOverTime,
)
from tests.unit.http.pages_facts import SCRIPT, Answer, Served, Workspace, replay_row, served
from tests.unit.http.pages_facts import SECRET as TOKEN

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from headrace.errors import HeadraceError
    from headrace.http.rows import ReplayRow

RUN = "replay-20260301-120000-000000"
SOURCE = {
    "name": f"lake.tv.{SCRIPT}",
    "snapshot_id": 7,
    "files": 4,
    "files_cut": 1,
    "rows": 120,
    "size_bytes": 4096,
    "bytes_read_again": 512,
    "complete_up_to": "2026-03-01T12:00:00.000000Z",
    "beyond_complete": True,
}
PLAN: dict[str, Any] = {
    "period": "[2026-03-01T10:00:00.000000Z, 2026-03-01T11:00:00.000000Z)",
    "order": "bounded",
    "threshold_ms": 900_000,
    "steps": 2,
    "rows": 120,
    "state_window_ms": 840_000,
    "estimated_s": {"jsonl": 3.0},
    "sources": [SOURCE],
    "read_in_part": [],
    "lookups": [],
    "differs_from_live": [
        {"kind": "clock", "where": f"now() in {SCRIPT}", "what_to_do": "use the record's time"}
    ],
    "watermarks": [
        {
            "source": "plays",
            "column": "event_ts",
            "delay_ms": 600_000,
            "widened_by_ms": 900_000,
            "unknown": None,
        }
    ],
    "refused": None,
    "picture": [
        {
            "step": 0,
            "steps": 2,
            "start": "2026-03-01T10:00:00.000000Z",
            "end": "2026-03-01T10:30:00.000000Z",
            "rows": 120,
        }
    ],
}
COMPARISON: dict[str, Any] = {
    "match_percent": 99.99999,
    "passed": False,
    "matched": 119,
    "mismatches": {"missing": 0, "extra": 1},
    "left": {"rows": 119},
    "right": {"rows": 120},
    "key": "event_id",
    "examples": [{"kind": "extra", "key": {"event_id": SCRIPT}, "left": None, "right": {"n": 1}}],
    "at": "2026-03-01T12:30:00.000000Z",
}


@dataclass
class ReplayActs(Acts):
    """Answers as it was told to, or with the problem that it was given."""

    problem: HeadraceError | None = None
    asked: list[tuple[str, object]] = field(default_factory=list)
    plan: Mapping[str, Any] = field(default_factory=lambda: PLAN)

    def replay_choices(self) -> ReplayChoices:
        source = ReplayedSource(
            "plays",
            "lake.tv.plays",
            [CandidateRow("live", None), CandidateRow("past", "lake.tv.plays")],
        )
        apps = [
            AppChoice(
                "rmi", "apps/rmi.yaml", "iceberg:lake.tv.rmi", True, True, "15min", ["id"], [source]
            ),
            AppChoice("other", "apps/other.yaml", "jsonl:out", problem="it cannot be replayed"),
        ]
        return ReplayChoices(apps, ["lake.tv.plays", "lake.tv.starts"], ["fronting"], ["us-east-1"])

    def tables_over_time(self, tables: Sequence[str]) -> Sequence[TableOverTime]:
        return [
            TableOverTime(
                one,
                120,
                4,
                "2026-03-01T10:00:00.000000Z",
                "2026-03-01T12:30:00.000000Z",
                "2026-03-01T10:00:00.000000Z",
                1_800,
                [60, 0, 0, 0, 0, 60],
                [("2026-03-01T10:20:00.000000Z", "2026-03-01T12:10:00.000000Z")],
                "2026-03-01T12:15:00.000000Z",
            )
            for one in tables
        ]

    def new_run_id(self) -> str:
        return RUN

    def plan_replay(self, request: Mapping[str, object]) -> Mapping[str, Any]:
        self._note("plan", request)
        return self.plan

    def start_replay(
        self,
        request: Mapping[str, object],
        run_id: str | None = None,
        plan: Mapping[str, Any] | None = None,
    ) -> str:
        self._note("start", (dict(request), run_id, plan))
        return run_id or RUN

    def cancel_replay(self, run_id: str, *, delete_output: bool) -> Mapping[str, Any] | None:
        self._note("cancel", (run_id, delete_output))
        return {"run_id": run_id, "state": "cancelled"} if run_id == RUN else None

    def publish_replay(self, run_id: str) -> Mapping[str, Any] | None:
        self._note("publish", run_id)
        return {"run_id": run_id, "table": "lake.tv.rmi", "rows": 120} if run_id == RUN else None

    def compare_replay(self, run_id: str, options: Mapping[str, str]) -> Mapping[str, Any] | None:
        self._note("compare", (run_id, dict(options)))
        return COMPARISON if run_id == RUN else None

    def _note(self, what: str, said: object) -> None:
        if self.problem is not None:
            raise self.problem
        self.asked.append((what, said))


@dataclass
class Replayed(Workspace):
    """A workspace whose replay was started in the control room."""

    row: ReplayRow = field(default_factory=lambda: replay_row(run_id=RUN))
    detail: ReplayDetail | None = None

    def replays(self) -> Sequence[ReplayRow]:
        return [self.row]

    def replay_detail(self, run_id: str) -> ReplayDetail | None:
        return self.detail if run_id == RUN else None


@contextmanager
def room(
    acts: Acts | None = None, facts: Workspace | None = None, *, read_only: bool = False
) -> Iterator[Served]:
    with served(facts or Replayed()) as one:
        one.board.acts = acts or Acts()
        one.board.read_only = read_only
        yield one


def post(one: Served, path: str, body: object = None, **headers: str) -> Answer:
    """Send JSON, as a program does."""
    headers.setdefault("Authorization", f"Bearer {TOKEN}")
    return one.ask(path, "POST", body if isinstance(body, str) else json.dumps(body), **headers)


def send(one: Served, path: str, form: Mapping[str, object], **headers: str) -> Answer:
    """Send a form, as a browser does."""
    headers.setdefault("Authorization", f"Bearer {TOKEN}")
    headers.setdefault("Accept", "text/html")
    return one.ask(path, "POST", urlencode(form, doseq=True), **headers)
