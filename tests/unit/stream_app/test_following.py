"""What a run says of the tables that it follows, by what Spark reports of a batch."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from pyspark.sql.streaming.listener import StreamingQueryProgress
from structlog.testing import capture_logs

from stream_app.follow.decisions import Decisions, FollowWatch
from stream_app.follow.position import FollowPosition, beginning

if TYPE_CHECKING:
    from pathlib import Path

SECOND_US = 1_000_000
BEGINNING = beginning(0, {"lake.a.b": 7}, since_us=0)


def progress(*ends: dict[str, Any] | None) -> StreamingQueryProgress:
    """Return a report as Spark writes it, with these offsets of sources."""
    rates = {"inputRowsPerSecond": 12.0, "processedRowsPerSecond": 34.0}
    sources = [
        {
            "description": f"source {number}",
            "startOffset": None,
            "endOffset": end,
            "latestOffset": end,
            "numInputRows": 5,
            **rates,
        }
        for number, end in enumerate(ends)
    ]
    report = {
        "id": "7d2d0a6e-5d0c-4c8b-9d3c-3a5b4f6f1a01",
        "runId": "7d2d0a6e-5d0c-4c8b-9d3c-3a5b4f6f1a02",
        "name": None,
        "timestamp": "2026-03-01T00:00:00.000Z",
        "batchId": 3,
        "batchDuration": 10,
        "numInputRows": 5,
        "durationMs": {},
        "stateOperators": [],
        "sources": sources,
        "sink": {"description": "sink", "numOutputRows": -1},
        **rates,
    }
    return StreamingQueryProgress.fromJson(json.loads(json.dumps(report)))


def facts(folder: Path, *ends: FollowPosition | dict[str, Any] | None) -> dict[str, object]:
    said = [end.to_json() if isinstance(end, FollowPosition) else end for end in ends]
    return dict(FollowWatch(folder / "checkpoint").facts(progress(*said)))


def test_how_far_a_batch_goes_and_how_far_behind_that_is(tmp_path: Path) -> None:
    place = replace(
        BEGINNING, until_us=20 * SECOND_US, reached_us=20 * SECOND_US, newest_us=32 * SECOND_US
    )
    assert facts(tmp_path, {"topic": {"0": 5}}, replace(place, late_rows=2)) == {
        "rows_per_s": 34,
        "frontier": "1970-01-01T00:00:20.000000Z",
        "behind_s": 13,
        "late_landed": 2,
    }
    assert facts(tmp_path, replace(place, newest_us=5)).get("behind_s") == 0


def test_what_rows_wait_for_is_told_once_for_each_reason(tmp_path: Path) -> None:
    said = Decisions(tmp_path / "follow" / "run")
    (tmp_path / "follow" / "run").mkdir(parents=True)
    following = FollowWatch(tmp_path / "checkpoint")
    with capture_logs() as logs:
        for reason in ("", "a", "a", "b", "", "b"):
            said.say(reason)
            following.look()
    assert [line["until"] for line in logs] == ["a", "b", "b"]


def test_a_table_without_a_row_and_a_query_without_a_table(tmp_path: Path) -> None:
    assert facts(tmp_path, BEGINNING) == {"rows_per_s": 34}
    assert facts(tmp_path, {"topic": {"0": 5}}, None) == {}
