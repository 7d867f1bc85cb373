"""Sessions with timers: open sessions in keyed state, and a timer at the end of each.

This is what `session_window` does, written out. Start from it for what `session_window` cannot do:
a session that ends with a certain event, a limit on its length, a different gap for each device.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import pandas as pd  # type: ignore[import-untyped]  # it ships no types
from pyspark.sql.streaming.stateful_processor import StatefulProcessor

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import DataFrame
    from pyspark.sql.streaming.stateful_processor import StatefulProcessorHandle

    from headrace.application.transform import Sources

GAP_US = 30 * 60 * 1_000_000
# Times as microseconds: they mean the same in every time zone.
STATE = "started_us bigint, ended_us bigint, events bigint, watched_s bigint"
RESULT = "user_id string, started timestamp, ended timestamp, events bigint, watched_s bigint"
Session: TypeAlias = tuple[int, int, int, int]


class Sessions(StatefulProcessor):
    """The open sessions of a user; what a late event brings together becomes one."""

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Name the state."""
        self._handle = handle
        self._open = handle.getListState("open", STATE)

    def handleInputRows(  # noqa: N802 - Spark's name
        self,
        key: tuple[str, ...],  # noqa: ARG002 - Spark's signature
        rows: Iterator[pd.DataFrame],
        timerValues: object,  # noqa: ARG002, N803 - as above
    ) -> Iterator[pd.DataFrame]:
        """Put events into sessions, and a timer at each session's end."""
        sessions = self._sessions()
        for batch in rows:
            sessions += [
                (at.value // 1000, at.value // 1000 + GAP_US, 1, int(watched))
                for at, watched in zip(batch["event_ts"], batch["watched_s"], strict=True)
            ]
        self._keep(merged(sessions))
        return iter(())

    def handleExpiredTimer(  # noqa: N802 - Spark's name
        self,
        key: tuple[str, ...],
        timerValues: object,  # noqa: ARG002, N803 - Spark's signature
        expiredTimerInfo: Any,  # noqa: ANN401, N803 - as above
    ) -> Iterator[pd.DataFrame]:
        """Emit the sessions that have ended by now."""
        now_ms = expiredTimerInfo.getExpiryTimeInMs()
        ended = [one for one in self._sessions() if _timer_ms(one[1]) <= now_ms]
        self._keep([one for one in self._sessions() if _timer_ms(one[1]) > now_ms])
        for started, ends, events, watched in ended:
            yield pd.DataFrame(
                {
                    "user_id": [key[0]],
                    "started": [pd.Timestamp(started, unit="us")],
                    "ended": [pd.Timestamp(ends, unit="us")],
                    "events": [events],
                    "watched_s": [watched],
                }
            )

    def close(self) -> None:
        """Hold nothing that needs closing."""

    def _sessions(self) -> list[Session]:
        return [tuple(one) for one in self._open.get()] if self._open.exists() else []

    def _keep(self, sessions: list[Session]) -> None:
        for timer in list(self._handle.listTimers()):
            self._handle.deleteTimer(timer)
        self._open.clear()
        if sessions:
            self._open.put(sessions)
        for _, ends, _, _ in sessions:
            self._handle.registerTimer(_timer_ms(ends))


def merged(sessions: list[Session]) -> list[Session]:
    """Bring sessions together that touch each other."""
    found: list[Session] = []
    for one in sorted(sessions):
        if found and one[0] <= found[-1][1]:
            last = found[-1]
            found[-1] = (last[0], max(last[1], one[1]), last[2] + one[2], last[3] + one[3])
        else:
            found.append(one)
    return found


def _timer_ms(time_us: int) -> int:
    """Return the first whole millisecond at which a time is over."""
    return -(-time_us // 1000)


def build(sources: Sources) -> DataFrame:
    """Return a row for every session that has ended."""
    events = sources["playback"].select("user_id", "event_ts", "watched_s")
    return events.groupBy("user_id").transformWithStateInPandas(
        Sessions(), outputStructType=RESULT, outputMode="Append", timeMode="EventTime"
    )
