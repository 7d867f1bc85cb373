"""All that a command shows, at one moment; pages and events of the same second share it."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from starlette.concurrency import run_in_threadpool

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from headrace.http.board import Board
    from headrace.http.detail_rows import DeclaredRow
    from headrace.http.rows import AppRow, NotReady, ReplayRow, StreamRow, TableRow

SHARED_FOR_S: Final = 0.9
# A rate is taken over so much time.
RATES_OVER_S: Final = 15.0
SHORTEST_S: Final = 0.5


@dataclass(frozen=True, slots=True)
class Snapshot:
    """What there is. `rates` are records read a second, by stream and output.

    `runs` is whether this command runs it, `may_write` whether its files may be changed from here.
    """

    at: str
    streams: Sequence[StreamRow] = ()
    tables: Sequence[TableRow] = ()
    apps: Sequence[AppRow] = ()
    replays: Sequence[ReplayRow] = ()
    declared: Sequence[DeclaredRow] = ()
    not_ready: Sequence[NotReady] = ()
    rates: Mapping[tuple[str, str], float] = field(default_factory=dict)
    may_write: bool = False
    runs: bool = True

    def declared_as(self, kind: str, name: str) -> DeclaredRow | None:
        """Return the file of something."""
        return next((one for one in self.declared if (one.kind, one.name) == (kind, name)), None)


class Snapshots:
    """Asks the command at most once a second, whoever wants to know."""

    def __init__(self, board: Board) -> None:
        self._board = board
        self._lock: asyncio.Lock | None = None
        self._last: Snapshot | None = None
        self._taken_at_s = float("-inf")
        self._reads: deque[tuple[float, dict[tuple[str, str], int]]] = deque()

    async def now(self) -> Snapshot:
        """Return what there is now."""
        self._lock = self._lock or asyncio.Lock()
        async with self._lock:
            if self._last is None or time.monotonic() - self._taken_at_s >= SHARED_FOR_S:
                self._last = await run_in_threadpool(self._take)
                self._taken_at_s = time.monotonic()
            return self._last

    def _take(self) -> Snapshot:
        at, facts = datetime.now(UTC).isoformat(timespec="seconds")[:19] + "Z", self._board.facts
        if facts is None:
            return Snapshot(at, not_ready=self._board.not_ready())
        streams = facts.streams()
        not_ready = list(facts.resting())
        if self._board.drain.requested:
            not_ready = self._board.not_ready()
        return Snapshot(
            at,
            streams,
            facts.tables(),
            facts.apps(),
            facts.replays(),
            facts.declared(),
            not_ready,
            self._rates(streams),
            self._board.may_write,
            facts.runs,
        )

    def _rates(self, streams: Sequence[StreamRow]) -> dict[tuple[str, str], float]:
        now_s = time.monotonic()
        reads = {
            (stream.name, output.name): output.read
            for stream in streams
            for output in stream.outputs
            if output.read is not None
        }
        self._reads.append((now_s, reads))
        while now_s - self._reads[0][0] > RATES_OVER_S and len(self._reads) > 2:
            self._reads.popleft()
        since_s, before = self._reads[0]
        passed_s = now_s - since_s
        if passed_s < SHORTEST_S:
            return {}
        return {
            key: max(0, read - before[key]) / passed_s
            for key, read in reads.items()
            if key in before
        }
