"""What tables hold over time, for the page that asks for a replay. A table is read once a snapshot."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from typing import TYPE_CHECKING, Final

from backfill.read.over_time import rows_over_time
from headrace.errors import HeadraceError
from headrace.http.board import CachedAnswer
from headrace.http.replay_rows import TableOverTime
from headrace.iceberg.catalog import load_table
from headrace.landing.completeness import complete_up_to
from headrace.times import SECOND_US, format_time_us

if TYPE_CHECKING:
    from backfill.read.over_time import RowsOverTime
    from headrace.config.workspace.workspace import Workspace

MOST_KNOWN: Final = 32


class TablesOverTime:
    """Reads tables in threads of their own: a page shows what is known within some seconds."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._lock = threading.Lock()
        self._answers: OrderedDict[str, CachedAnswer[TableOverTime]] = OrderedDict()
        self._known: dict[str, tuple[int | None, RowsOverTime]] = {}

    def of(self, table: str) -> TableOverTime:
        """Return what a table holds over time, or why that is not known."""
        with self._lock:
            if table not in self._answers:
                self._answers[table] = CachedAnswer(f"reads {table}", lambda: self._read(table))
            self._answers.move_to_end(table)
            if len(self._answers) > MOST_KNOWN:
                gone, _ = self._answers.popitem(last=False)
                self._known.pop(gone, None)
            answer = self._answers[table]
        return answer.value() or TableOverTime(
            table, problem="its files are still being listed: load the page again in a while"
        )

    def _read(self, name: str) -> TableOverTime:
        try:
            table = load_table(self._workspace, name)
            snapshot = table.current_snapshot()
            snapshot_id = None if snapshot is None else snapshot.snapshot_id
            known = self._known.get(name)
            if known is None or known[0] != snapshot_id:
                known = snapshot_id, rows_over_time(table, time.time_ns() // 1_000)
                self._known[name] = known
            complete = complete_up_to(table.properties)
        except HeadraceError as problem:
            return TableOverTime(name, problem=problem.message)
        except Exception as problem:  # noqa: BLE001 - what a store's client raises; it may name a secret
            return TableOverTime(name, problem=f"it could not be read: {type(problem).__name__}")
        upto_us = None if complete is None else complete.time_us
        return _row(name, known[1], None if upto_us is None else format_time_us(upto_us))


def _row(name: str, found: RowsOverTime, complete: str | None) -> TableOverTime:
    first_us, last_us = found.first_us, found.last_us
    return TableOverTime(
        name,
        found.rows,
        found.files,
        None if first_us is None else format_time_us(first_us),
        None if last_us is None else format_time_us(last_us),
        None if first_us is None else format_time_us(found.start_us),
        found.each_us // SECOND_US,
        found.counts,
        [(format_time_us(start), format_time_us(end)) for start, end in found.gaps],
        complete,
        found.rows_elsewhere,
        None if found.is_whole else "it has more files than are listed for this picture",
    )
