"""What a replay keeps of itself: its plan, and how far it is. Enough to go on after any end."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import msgspec

from backfill.lookups.batches import steps_of
from backfill.plan.period import Period  # noqa: TC001 - a kept record is read by its types
from backfill.plan.plan import Plan, read_plan
from backfill.run.fingerprint import AppFingerprint  # noqa: TC001 - a kept record is read by its types
from headrace import state_files
from headrace.contract import ValueFormat  # noqa: TC001 - as above
from headrace.errors import UsageError
from headrace.queries.checkpoint import committed_batches

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

READS = "reads.json"


@dataclass(frozen=True, slots=True)
class RunRecord:
    """What a run is, in a few words: enough to show it, and to go on with it."""

    to: str
    begun: str
    steps: int
    rows: int
    tables: tuple[str, ...]
    app: str | None = None
    key: str | None = None
    # To Kafka, the format of each table's values: its property may have changed since.
    formats: dict[str, ValueFormat] = field(default_factory=dict)
    # The rows that are emitted, by the sink's time_column; where they wait to be published.
    emitted: Period | None = None
    staged: str | None = None
    publish: bool = False
    # How many rows of what was staged are in the table; None before they are.
    published: int | None = None
    # Of an application: what it was when the run began, and the table that it wrote to then.
    used: AppFingerprint | None = None
    sink: dict[str, Any] | None = None
    # The candidates that were chosen when the run began.
    choices: dict[str, str] = field(default_factory=dict)
    # How long after a row's time the application may emit it: its longest window.
    reach_us: int | None = None


@dataclass(slots=True)
class RunPosition:
    """How far a replay is, and what was measured up to there."""

    steps_done: int = 0
    newest_us: int | None = None
    max_disorder_us: int = 0
    rows: dict[str, int] = field(default_factory=dict)
    last_offsets: dict[str, int] = field(default_factory=dict)
    out_of_order: int = 0


class RunState:
    """The folder of one run."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.run_id = folder.name
        # Whoever works on this run holds it.
        self.lock = folder / "lock"
        # Where Spark keeps what an application's replay has come to.
        self.checkpoint = folder / "checkpoint"
        self.plan_file = folder / "plan.jsonl"
        self._record = folder / "run.json"
        self._position = folder / "position.json"
        self.certificate = folder / "certificate.json"

    def committed(self) -> tuple[int, list[int]]:
        """Return how many steps an application's query has committed, and in which batches."""
        batches = committed_batches(self.checkpoint)
        return steps_of(self.checkpoint, batches[-1]) if batches else 0, batches

    @property
    def exists(self) -> bool:
        """Whether there is a run of that name."""
        return self.plan_file.exists()

    def begin(self, plan: Plan, record: RunRecord) -> None:
        """Keep the plan of a new run."""
        self.refuse_existing()
        state_files.write(self._record, msgspec.json.encode(record))
        self.store_plan(plan)

    def store_record(self, record: RunRecord) -> None:
        """Keep what is known of the run by now."""
        if record != self.record():
            state_files.write(self._record, msgspec.json.encode(record))

    def refuse_existing(self) -> None:
        """Refuse a name that another run has."""
        if self.exists:
            raise UsageError(
                f"run {self.run_id} already exists",
                "continue it with --resume, or choose another --run-id",
            )

    def require(self) -> None:
        """Refuse a name that no run has."""
        if not self.exists:
            raise UsageError(
                f"there is no run {self.run_id}",
                f"runs are stored in {self.folder.parent}; backfill status lists them",
            )

    def store_plan(self, plan: Plan) -> Path:
        """Keep a plan unless this run has one; returns the file of the one that counts."""
        if not self.exists:
            plan.write(self.plan_file)
        return self.plan_file

    def plan(self) -> Plan:
        """Return the plan of a run."""
        self.require()
        return read_plan(self.plan_file)

    def record(self) -> RunRecord | None:
        """Return what the run is; None for one that a program began."""
        return state_files.find(self._record, RunRecord)

    def require_record(self) -> RunRecord:
        """Return what the run is; refuse a name that no run has, and a run of a program."""
        self.require()
        record = self.record()
        if record is None:
            raise UsageError(
                f"run {self.run_id} was started by a program",
                "the program that started it continues it",
            )
        return record

    def position(self) -> RunPosition:
        """Return where the run is; at its beginning where it has made no step."""
        return state_files.find(self._position, RunPosition) or RunPosition()

    def advance(self, position: RunPosition) -> None:
        """Keep how far the run is. The step's rows are safe before: a crash repeats a step."""
        state_files.write(self._position, msgspec.json.encode(position))

    def store_reads(self, columns: Mapping[str, Sequence[str]]) -> None:
        """Keep which columns are read of each table that is not read as a whole."""
        state_files.write(self.folder / READS, msgspec.json.encode(columns))

    def store_certificate(self, text: str) -> None:
        """Keep what a run says of itself at its end."""
        state_files.write(self.certificate, text.encode())


def reads_beside(plan_file: Path) -> dict[str, tuple[str, ...]]:
    """Return which columns a run reads of each table that it does not read as a whole."""
    return state_files.find(plan_file.with_name(READS), dict[str, tuple[str, ...]]) or {}
