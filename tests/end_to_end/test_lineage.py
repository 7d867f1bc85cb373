"""What OpenLineage is told of a stream, a lake table and a replay, each run as a user runs it."""

from __future__ import annotations

import json
import signal
from typing import TYPE_CHECKING, Any

import pytest

from headrace.embedded.process import wait_until
from headrace.iceberg.catalog import load_table
from headrace.kafka.sender import KafkaRecord, Sender
from tests.end_to_end.at_work import AtWork
from tests.end_to_end.commands import run, write_workspace
from tests.limits import LIMIT_S
from tests.lineage_receiver import has_spec, misfits, receiving

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from headrace.embedded.broker import Broker
    from tests.lineage_receiver import Receiver

NAME = "lineage"
EVENTS = ["start", "stop", "start", "start"]
TABLE = "lake.tv.starts"


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with receiving() as found:
        yield found


def test_a_stream_a_table_and_a_replay_are_told_with_what_they_wrote(
    tmp_path: Path, broker: Broker, receiver: Receiver
) -> None:
    ground = AtWork(
        write_workspace(tmp_path / "ws", NAME, broker.bootstrap_servers), tmp_path / "log"
    )
    with (ground.root / "headrace.yaml").open("a", encoding="utf-8") as file:
        file.write(f"lineage: {{url: '{receiver.url}', namespace: tv, interval: 1s}}\n")
    with (ground.root / "tables/starts.yaml").open("a", encoding="utf-8") as file:
        file.write("batch: {max_interval: 1s}\n")
    _send(ground)

    with ground.at_work("headrace", "up", "--http", "127.0.0.1:0") as process:
        # Periodic events show what has been written by then.
        stream, table = f"stream.{NAME}", f"lake_table.{NAME}_starts"
        assert wait_until(lambda: _rows(receiver, stream) == 3, LIMIT_S), ground.log.read_text()
        assert wait_until(lambda: _rows(receiver, table) == 3, LIMIT_S), ground.log.read_text()
        process.send_signal(signal.SIGTERM)
        assert process.wait(LIMIT_S) == 0
    for name in (stream, table):
        told = [one["eventType"] for one in receiver.of(name)]
        assert (told[0], told[-1]) == ("START", "COMPLETE")
        assert set(told[1:-1]) == {"RUNNING"}
        assert len({one["run"]["runId"] for one in receiver.of(name)}) == 1

    # What the stream writes is what the table reads: they meet in one dataset.
    routed, landed = receiver.of(stream)[-1], receiver.of(table)[-1]
    assert _name(routed["outputs"][0]) == _name(landed["inputs"][0])
    stored = load_table(ground.workspace, TABLE)
    (written, *_) = landed["outputs"]
    assert written["namespace"] == "file"
    assert stored.location() in {written["name"], f"file://{written['name']}"}
    snapshot = stored.current_snapshot()
    assert snapshot is not None
    assert written["facets"]["version"]["datasetVersion"] == str(snapshot.snapshot_id)
    statistics = written["outputFacets"]["outputStatistics"]
    assert (statistics["rowCount"], statistics["fileCount"] >= 1) == (3, True)

    replay = ["--table", TABLE, "--to", "jsonl:out", "--start-ts", "2020-01-01", "--end-ts"]
    words = [*replay, "2100-01-01", "--up-to", "committed", "--run-id", "again"]
    words += ["--metrics-file", "replay.prom"]
    done = run("backfill", "replay", *words, cwd=ground.root)
    assert done.returncode == 0, done.stderr
    start, end = receiver.of(f"replay.{TABLE}")
    assert (start["eventType"], end["eventType"]) == ("START", "COMPLETE")
    assert end["run"]["facets"]["nominalTime"]["nominalStartTime"].startswith("2020-01-01T00:00:00")
    assert end["run"]["facets"]["tags"]["tags"][0]["value"] == "again"
    (read,), (result,) = end["inputs"], end["outputs"]
    assert _name(read) == _name(written)
    assert read["facets"]["version"] == written["facets"]["version"]
    assert (result["namespace"], result["name"]) == ("file", str(ground.root / "out"))
    assert result["outputFacets"]["outputStatistics"]["rowCount"] == 3
    tests = {one["name"]: one["status"] for one in end["run"]["facets"]["test"]["tests"]}
    assert tests == {
        "bounded_disorder": "pass",
        "none_dropped_as_late": "pass",
        f"rows_as_planned.{TABLE}": "pass",
    }

    metrics = (ground.root / "replay.prom").read_text()
    assert f'headrace_last_run_success{{kind="replay",name="{TABLE}"}} 1' in metrics
    assert 'headrace_records_in_total{replay="again"} 3' in metrics
    assert 'headrace_lineage_events_total{outcome="sent"} 2' in metrics

    if has_spec():
        assert [one for event in receiver.events for one in misfits(event)] == []


def _send(ground: AtWork) -> None:
    for topic in (f"{NAME}_raw", f"{NAME}_starts"):
        ground.kafka.ensure_topic(topic, 2)
    sender = Sender(ground.workspace.cluster("fronting"), f"{NAME}_raw")
    for number, kind in enumerate(EVENTS):
        record = {"event_id": f"e{number}", "event_type": kind, "event_ts": "2026-03-01T00:00:00Z"}
        sender.send(KafkaRecord(json.dumps(record).encode()))
    sender.close()


def _rows(receiver: Receiver, job: str) -> int | None:
    """Return how many rows the newest event of a job says its first output has got."""
    for event in reversed(receiver.of(job)):
        for one in event["outputs"][:1]:
            found: int | None = one["outputFacets"].get("outputStatistics", {}).get("rowCount")
            return found
    return None


def _name(dataset: dict[str, Any]) -> tuple[str, str]:
    return dataset["namespace"], dataset["name"]
