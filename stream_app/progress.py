"""What an application keeps of its batches beside its checkpoint, for whoever asks later.

It is for people: no run goes on from it. So a file that is lost or cannot be written stops nothing.
"""

from __future__ import annotations

from collections import deque
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

import msgspec
import structlog

from headrace import state_files
from headrace.http.app_rows import BatchRow, StateRow
from headrace.times import format_time_us, parse_time_us

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pyspark.sql.streaming.listener import StreamingQueryProgress

    from headrace.application.late_rows import DroppedLate

FILE: Final = "progress.json"
MOST_BATCHES: Final = 30
MS_PER_S: Final = 1_000
log = structlog.get_logger(__name__)


class Progress(msgspec.Struct, frozen=True):
    """What the last process of an application said last."""

    started: str
    at: str
    rows: int
    watermark: str | None = None
    batches: list[BatchRow] = []
    state: list[StateRow] = []
    dropped_late: int = 0
    is_late_exact: bool = True


class ProgressKeeper:
    """Takes over what each batch says, and keeps it in a file."""

    def __init__(self, folder: Path, dropped_late: Callable[[], DroppedLate]) -> None:
        self._file = folder / FILE
        self._dropped_late = dropped_late
        self._started = _now()
        self._rows = 0
        self._watermark: str | None = None
        self._batches: deque[BatchRow] = deque(maxlen=MOST_BATCHES)
        self._late_by_operator: dict[int, int] = {}
        self._has_failed = False

    def see(self, progress: StreamingQueryProgress) -> None:
        """Keep what a batch says of itself."""
        said = progress.eventTime.get("watermark")
        # Spark's watermark begins at 0.
        if said is not None and parse_time_us(said) > 0:
            self._watermark = format_time_us(parse_time_us(said))
        self._rows += progress.numInputRows
        took_s = progress.durationMs.get("triggerExecution", 0) / MS_PER_S
        began = format_time_us(parse_time_us(progress.timestamp))
        row = BatchRow(progress.batchId, began, progress.numInputRows, took_s, self._watermark)
        self._batches.append(row)
        state = []
        for number, one in enumerate(progress.stateOperators):
            late = self._late_by_operator.get(number, 0) + one.numRowsDroppedByWatermark
            self._late_by_operator[number] = late
            state.append(StateRow(one.operatorName, one.numRowsTotal, one.memoryUsedBytes, late))
        self._keep(state)

    def _keep(self, state: list[StateRow]) -> None:
        late = self._dropped_late()
        content = Progress(
            self._started,
            _now(),
            self._rows,
            self._watermark,
            list(self._batches),
            state,
            late.records,
            late.is_exact,
        )
        try:
            state_files.write(self._file, msgspec.json.encode(content), lasting=False)
        except OSError as problem:
            if not self._has_failed:
                log.warning("the progress could not be kept", reason=problem.strerror)
            self._has_failed = True


def read_progress(folder: Path) -> Progress | None:
    """Return what an application keeps; None where it keeps nothing that can be read."""
    try:
        return msgspec.json.decode((folder / FILE).read_bytes(), type=Progress)
    except (OSError, ValueError):
        return None


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
