"""What an application keeps of its batches, and what the control room reads from its files."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from pyspark.sql.streaming.listener import StreamingQueryProgress

from headrace.application.late_rows import DroppedLate
from headrace.application.rejected_counts import store_counts
from headrace.config.app.file import App
from headrace.config.load import load_workspace
from headrace.http.app_rows import PositionRow, StateRow
from stream_app.app_detail import NEVER_RAN, app_detail
from stream_app.follow.position import beginning
from stream_app.progress import FILE, MOST_BATCHES, ProgressKeeper, read_progress

if TYPE_CHECKING:
    from pathlib import Path

    from headrace.config.workspace.workspace import Workspace

KAFKA = {"type": "kafka", "cluster": "c", "format": "raw"}
ICEBERG = {"type": "iceberg", "catalog": "lake", "database": "tv"}
APP = App.model_validate(
    {
        "kind": "app",
        "name": "rmi",
        "sources": {
            "plays": {"type": "dynamic", "selected": "past", "candidates": ["live", "past"]},
            "live": {**KAFKA, "topics": "plays"},
            "past": {**ICEBERG, "table": "plays"},
            "clicks": {**ICEBERG, "table": "clicks", "follow": {}},
        },
        "lookups": {"titles": {**ICEBERG, "table": "titles", "as_of": "today"}},
        "transform": {"sql": "SELECT 1"},
        "sink": {"type": "jsonl", "path": "out"},
    }
)


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    (tmp_path / "headrace.yaml").write_text("state_dir: state\n", encoding="utf-8")
    return load_workspace(tmp_path)


def folder_of(workspace: Workspace) -> Path:
    return workspace.state_dir / "app" / "rmi"


def progress(
    batch: int, watermark: str = "1970-01-01T00:00:00.000Z", late: int = 0
) -> StreamingQueryProgress:
    operator = {
        "operatorName": "stateStoreSave",
        "numRowsTotal": 10 + batch,
        "numRowsUpdated": 1,
        "allUpdatesTimeMs": 1,
        "numRowsRemoved": 0,
        "allRemovalsTimeMs": 0,
        "commitTimeMs": 1,
        "memoryUsedBytes": 2_048,
        "numRowsDroppedByWatermark": late,
        "numShufflePartitions": 2,
        "numStateStoreInstances": 2,
        "customMetrics": {},
    }
    return StreamingQueryProgress.fromJson(
        {
            "id": "0c8e4b69-5d68-47f8-92e7-5d01b01cfb85",
            "runId": "0c8e4b69-5d68-47f8-92e7-5d01b01cfb86",
            "name": "rmi",
            "timestamp": f"2026-03-01T12:00:{batch % 60:02}.000Z",
            "batchId": batch,
            "batchDuration": 1_500,
            "durationMs": {"triggerExecution": 1_500, "addBatch": 1_000},
            "eventTime": {"watermark": watermark},
            "stateOperators": [operator],
            "sources": [],
            "sink": {"description": "sink", "numOutputRows": 0, "metrics": {}},
            "numInputRows": 100,
            "inputRowsPerSecond": 1.0,
            "processedRowsPerSecond": 1.0,
            "observedMetrics": {},
        }
    )


def batch_log(folder: Path, number: int, *offsets: object) -> None:
    said = json.dumps({"batchWatermarkMs": 0, "batchTimestampMs": 1_000 * number})
    lines = "\n".join(["v1", said, *map(json.dumps, offsets)])
    for log in ("offsets", "commits"):
        path = folder / "checkpoint" / log / str(number)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(lines, encoding="utf-8")


def test_what_batches_say_is_kept_for_whoever_asks_later(workspace: Workspace) -> None:
    late = DroppedLate(7, is_exact=False)
    keeper = ProgressKeeper(folder_of(workspace), lambda: late)
    keeper.see(progress(0))
    keeper.see(progress(1, "2026-03-01T11:50:00.000Z", late=2))
    keeper.see(progress(2, "2026-03-01T11:51:00.000Z", late=3))
    detail = app_detail(workspace, APP)
    assert detail.rows == 300
    assert detail.watermark == "2026-03-01T11:51:00.000000Z"
    assert [one.batch for one in detail.batches] == [2, 1, 0]
    # Spark's watermark begins at 0, which is no watermark.
    assert [one.watermark for one in detail.batches][2] is None
    assert detail.batches[0].duration_s == 1.5
    assert detail.state == [StateRow("stateStoreSave", 12, 2_048, 5)]
    assert (detail.dropped_late, detail.is_late_exact) == (7, False)


def test_it_keeps_the_newest_batches_alone(workspace: Workspace) -> None:
    keeper = ProgressKeeper(folder_of(workspace), DroppedLate)
    for number in range(MOST_BATCHES + 5):
        keeper.see(progress(number))
    kept = read_progress(folder_of(workspace))
    assert kept is not None
    assert [one.batch for one in kept.batches] == list(range(5, MOST_BATCHES + 5))
    assert kept.rows == 100 * (MOST_BATCHES + 5)


def test_a_disk_that_takes_nothing_stops_no_application(workspace: Workspace) -> None:
    folder = folder_of(workspace)
    folder.parent.mkdir(parents=True)
    folder.write_text("no folder", encoding="utf-8")
    ProgressKeeper(folder, DroppedLate).see(progress(0))
    assert read_progress(folder) is None


@pytest.mark.parametrize("content", ["", "{", '{"started": 1}'])
def test_a_file_that_cannot_be_read_is_not_known(workspace: Workspace, content: str) -> None:
    (folder_of(workspace)).mkdir(parents=True)
    (folder_of(workspace) / FILE).write_text(content, encoding="utf-8")
    assert app_detail(workspace, APP).unknown == [NEVER_RAN]


def test_positions_are_those_of_the_candidate_that_the_checkpoint_began_with(
    workspace: Workspace,
) -> None:
    folder = folder_of(workspace)
    followed = beginning(0, {"lake.tv.clicks": 7}, since_us=0).to_json()
    for number in range(12):
        batch_log(folder, number, followed, {"plays": {"0": 100 + number, "1": [200, 3]}})
    (folder / "sources.json").write_text('{"plays": "live", "clicks": "clicks"}', encoding="utf-8")
    detail = app_detail(workspace, APP)
    assert detail.positions == [
        PositionRow("plays", "live", "plays 0:111 1:200"),
        PositionRow("clicks", "clicks", "nothing of lake.tv.clicks yet"),
    ]
    assert [one.batch for one in detail.rewinds] == [11, 10, 9, 8, 7, 6, 5, 4, 0]
    assert detail.rewinds_kept == 12
    assert {one.obstacle for one in detail.rewinds} == {None}


def test_a_batch_whose_state_is_gone_says_so(workspace: Workspace) -> None:
    folder = folder_of(workspace)
    for number in range(2):
        batch_log(folder, number, {"plays": {"0": number}})
    operator = folder / "checkpoint/state/0/_metadata/metadata"
    operator.parent.mkdir(parents=True)
    store = {"storeName": "default", "numPartitions": 1}
    said = {"operatorInfo": {"operatorName": "dedupe"}, "stateStoreInfo": [store]}
    operator.write_text(f"v1\n{json.dumps(said)}", encoding="utf-8")
    (folder / "checkpoint/state/0/0").mkdir()
    (folder / "checkpoint/state/0/0/1.delta").write_text("1", encoding="utf-8")
    newest, oldest = app_detail(workspace, APP).rewinds
    assert oldest.obstacle is None
    assert "lacks the change to version 2" in (newest.obstacle or "")


def test_records_ahead_of_time_are_counted_apart(workspace: Workspace) -> None:
    folder = folder_of(workspace)
    ProgressKeeper(folder, DroppedLate).see(progress(0))
    store_counts(folder / "turned_away" / "live", "one", {"ahead": 3, "dropped": 1})
    store_counts(folder / "turned_away" / "live", "two", {"ahead": 2, "quarantined": 4})
    detail = app_detail(workspace, APP)
    assert (detail.ahead, detail.rejected) == (5, {"dropped": 1, "quarantined": 4})


def test_what_is_not_on_this_host_is_said_to_be_unknown(workspace: Workspace) -> None:
    far = replace(workspace, checkpoint_dir="hdfs://far:8020/headrace")
    detail = app_detail(far, APP)
    assert any("hdfs://far:8020/headrace" in one for one in detail.unknown)
    assert (detail.positions, detail.rewinds, detail.ahead) == ([], [], None)
    assert [(one.name, one.table, one.as_of) for one in detail.lookups] == [
        ("titles", "lake.tv.titles", "today")
    ]
    assert detail.is_replayed
