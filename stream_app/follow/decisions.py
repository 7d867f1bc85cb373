"""What a run says of the tables that it follows: how far it is, and what it waits for."""

from __future__ import annotations

import contextlib
import json
from typing import TYPE_CHECKING, Any, Final

import structlog

from backfill.follow.place import Place
from headrace.times import format_time_us

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from pyspark.sql.streaming.listener import StreamingQueryProgress

SECOND_US: Final = 1_000_000
log = structlog.get_logger(__name__)


class Following:
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
    place = Place.from_json(offset)
    facts: dict[str, str | int] = {}
    if place.reached_us is not None:
        facts["frontier"] = format_time_us(place.until_us)
        if place.newest_us is not None:
            behind_us = max(0, place.newest_us + 1 - place.until_us)
            facts["behind_s"] = -(-behind_us // SECOND_US)
    if place.late_rows:
        facts["late_landed"] = place.late_rows
    if place.null_times:
        facts["null_times"] = place.null_times
    return facts
