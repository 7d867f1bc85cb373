"""One position for all sources of a query: whoever is asked first decides, the others do as it did.

Spark asks each source for itself, each in a process of its own, always in the same order. What is
decided is kept in a folder of the run, for the others and for nothing else: Spark's log has it too.
"""

from __future__ import annotations

import contextlib
import json
from typing import TYPE_CHECKING, Any, Final

import structlog

from headrace import state_files
from headrace.locks import Claim
from headrace.times import SECOND_US, format_time_us
from stream_app.follow.position import FollowPosition

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from pyspark.sql.streaming.listener import StreamingQueryProgress


KEPT: Final = 16


class Decisions:
    """The positions that were decided lately in a run."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        # The first process that asks decides, until it ends.
        self.lead = Claim(folder / "lead")

    def after(self, position: FollowPosition) -> FollowPosition | None:
        """Return what was decided to come after a position."""
        try:
            said = json.loads(self._file(position.number + 1).read_text(encoding="utf-8"))
        except FileNotFoundError:
            return None
        # A number may have been another position's before the query went back to an earlier one.
        is_known = FollowPosition.from_json(said["from"]) == position
        return FollowPosition.from_json(said["to"]) if is_known else None

    def store(self, position: FollowPosition, following: FollowPosition) -> None:
        """Keep what comes after a position."""
        said = {"from": position.to_json(), "to": following.to_json()}
        # Spark's log has it too: a later start needs none of these.
        file = self._file(following.number)
        state_files.write(file, json.dumps(said).encode(), lasting=False)
        self._file(following.number - KEPT).unlink(missing_ok=True)

    def say(self, text: str) -> None:
        """Write what the query waits for; an empty text if it waits for nothing."""
        file = self._folder / "waits"
        if (file.read_text(encoding="utf-8") if file.exists() else "") != text:
            state_files.write(file, text.encode(), lasting=False)

    def _file(self, number: int) -> Path:
        return self._folder / f"{number}.json"


log = structlog.get_logger(__name__)


class FollowWatch:
    """Watches a query that follows tables."""

    def __init__(self, checkpoint: Path) -> None:
        self._folder = checkpoint.with_name("follow")
        self._waits = ""

    def facts(self, progress: StreamingQueryProgress) -> Mapping[str, object]:
        """Return how fast a batch was, how far it goes, and how far behind the tables that is."""
        for source in progress.sources:
            # As an attribute it is the text of a dict in Python, which is no JSON.
            offset = json.loads(source.json)["endOffset"]
            if isinstance(offset, dict) and "base_us" in offset:
                speed = round(progress.processedRowsPerSecond)
                return {"rows_per_s": speed, **of_offset(offset)}
        return {}

    def look(self) -> None:
        """Say what rows wait for, once for each reason."""
        waits = ""
        with contextlib.suppress(FileNotFoundError, StopIteration):
            waits = next(self._folder.glob("*/waits")).read_text(encoding="utf-8")
        if waits and waits != self._waits:
            log.info("rows wait", until=waits)
        self._waits = waits


def of_offset(offset: Mapping[str, Any]) -> dict[str, str | int]:
    """Say of an offset in Spark's log how far it is."""
    position = FollowPosition.from_json(offset)
    facts: dict[str, str | int] = {}
    if position.reached_us is not None:
        facts["frontier"] = format_time_us(position.until_us)
        if position.newest_us is not None:
            behind_us = max(0, position.newest_us + 1 - position.until_us)
            facts["behind_s"] = -(-behind_us // SECOND_US)
    if position.late_rows:
        facts["late_landed"] = position.late_rows
    if position.null_times:
        facts["null_times"] = position.null_times
    return facts
