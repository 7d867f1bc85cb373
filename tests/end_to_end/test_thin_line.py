"""From a file of records to its replay, typed as a user types it."""

from __future__ import annotations

import json
import subprocess
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest

from headrace.config.load import load_workspace
from headrace.iceberg.catalog import open_catalog
from headrace.kafka.cluster import KafkaCluster
from tests.end_to_end.commands import BIN, run, write_workspace

if TYPE_CHECKING:
    from pathlib import Path

    from headrace.embedded.broker import Broker

Done = subprocess.CompletedProcess[str]

NAME = "line"
T0_US = 1_772_323_200_000_000
STARTS, STOPS = 60, 40
EVENTS: list[dict[str, Any]] = [
    {
        "event_id": f"e{n}",
        "event_type": "start" if n < STARTS else "stop",
        "event_ts": T0_US + n,
        "country": None if n % 10 == 0 else "é" if n % 10 == 1 else "us",
    }
    for n in range(STARTS + STOPS)
]
BAD = ["no json", '{"event_id":null,"event_type":"start","event_ts":1}']
PERIOD = ("--start-ts", "2020-01-01", "--end-ts", "2120-01-01T00:00:00Z")
TABLE = "lake.tv.starts"
JSON_LOG = ("--log-format", "json")


@dataclass(frozen=True)
class Line:
    """A workspace, and what each command answered."""

    root: Path
    produce: Done
    route: Done
    land: Done
    replay: Done


@pytest.fixture(scope="module")
def line(broker: Broker, tmp_path_factory: pytest.TempPathFactory) -> Line:
    """The whole line: once from outside the workspace, once from inside, both ways to name it."""
    base = tmp_path_factory.mktemp("line")
    root = write_workspace(base / "ws", NAME, broker.bootstrap_servers)
    (root / "events.jsonl").write_text("".join(json.dumps(one) + "\n" for one in EVENTS))
    sending = ("--cluster", "fronting", "--topic", f"{NAME}_raw")
    produce = run("headrace", "produce", "events.jsonl", *sending, cwd=root)
    more = run("headrace", "produce", *sending, "--workspace", "ws", cwd=base, stdin="\n".join(BAD))
    assert more.returncode == 0, more.stderr
    stream = ("start", "-c", "ws/streams/playback.yaml", "--once", "--format", "json", *JSON_LOG)
    route = run("router", *stream, "--workspace", "ws", cwd=base)
    table = ("start", "-c", "starts.yaml", "--once", "-o", "json", *JSON_LOG)
    land = run("lake-writer", *table, cwd=root / "tables")
    replay = run("backfill", "replay", "--table", TABLE, *PERIOD, "--to", "jsonl:out", cwd=root)
    return Line(root, produce, route, land, replay)


def test_every_command_ends_well_and_keeps_results_and_logs_apart(line: Line) -> None:
    for done in (line.produce, line.route, line.land, line.replay):
        assert done.returncode == 0, done.stderr
        assert "Traceback" not in done.stderr
    assert line.produce.stdout == f"{len(EVENTS)} records sent to {NAME}_raw\n"
    assert "batch routed" in line.route.stderr
    assert "batch landed" in line.land.stderr


def test_the_counts(line: Line) -> None:
    read = len(EVENTS) + len(BAD)
    starts = {"read": read, "written": STARTS, "filtered": STOPS, "dropped": 0, "dropped_by": {}}
    assert json.loads(line.route.stdout) == {
        "stream": NAME,
        "outputs": {
            "starts": starts | {"quarantined": len(BAD)},
        },
        "quarantine": {"records": len(BAD)},
    }
    landed = {"table": TABLE, "commits": 1, "rows": STARTS, "quarantined": 0, "dropped": 0}
    assert json.loads(line.land.stdout) == landed
    assert line.replay.stdout.startswith(f"{STARTS} rows in ")


def test_a_batch_of_the_log_is_found_in_the_ledger_and_in_the_table(line: Line) -> None:
    routed, landed = logged(line.route, "batch routed"), logged(line.land, "batch landed")
    workspace = load_workspace(line.root)
    ledger = KafkaCluster(workspace.cluster("consumer")).records(f"headrace.{NAME}.ledger")
    values = [json.loads(message.value() or b"{}") for message in ledger]
    outputs = {one["output"]: one["batch"] for one in routed}
    assert outputs.keys() == {"starts", "quarantine"}
    assert {*outputs.values()} <= {value.get("batch") for value in values}
    catalog, _, name = TABLE.partition(".")
    table = open_catalog(workspace.catalog(catalog)).load_table(name)
    written = {one.snapshot_id for one in table.metadata.snapshots}
    assert {one["snapshot"] for one in landed} == written


def logged(command: Done, event: str) -> list[dict[str, Any]]:
    """Return the lines of a JSON log about one event."""
    lines = [json.loads(one) for one in command.stderr.splitlines() if one.startswith("{")]
    return [one for one in lines if one["event"] == event]


def test_what_is_replayed_is_what_was_produced(line: Line) -> None:
    """Computed anew from the events, and from where the records lie in the routed topic."""
    cluster = KafkaCluster(load_workspace(line.root).cluster("consumer"))
    places = {
        json.loads(message.value() or b"")["event_id"]: (
            message.timestamp()[1],
            message.partition(),
            message.offset(),
        )
        for message in cluster.records(f"{NAME}_starts")
    }
    replayed = read_steps(line.root / "out")
    seen = {row["event_id"]: row for row in replayed}
    assert len(replayed) == len(seen) == STARTS
    for event in EVENTS[:STARTS]:
        row = seen[event["event_id"]]
        timestamp_ms, partition, offset = places[event["event_id"]]
        metadata = row.pop("__metadata__")
        assert metadata.pop("kafka_ingestion_ts").endswith(f".{timestamp_ms % 1000:03d}000Z")
        assert metadata == {
            "topic": f"{NAME}_starts",
            "partition": partition,
            "offset": offset,
            # The cluster that was landed from names none: it came along with the record.
            "region": "us-east-1",
        }
        country = event["country"]
        assert row == {
            "event_id": event["event_id"],
            "event_ts": f"2026-03-01T00:00:00.{event['event_ts'] - T0_US:06d}Z",
            "country": country if country is None else str(country).upper(),
            "__step__": row["__step__"],
            "__source__": TABLE,
        }


def test_the_certificate(line: Line) -> None:
    certificate = json.loads((line.root / "out" / "certificate.json").read_text())
    steps = {row["__step__"] for row in read_steps(line.root / "out")}
    assert certificate["rows"] == STARTS
    assert certificate["steps"] == len(steps) == max(steps) + 1
    assert certificate["complete"] is True
    assert certificate["threshold_ms"] == 900_000
    assert 0 <= certificate["max_disorder_ms"] <= 900_000
    assert certificate["dropped_late"] == 0
    (source,) = certificate["sources"]
    assert (source["name"], source["rows"]) == (TABLE, STARTS)
    assert certificate["snapshots"] == {TABLE: source["snapshot_id"]}


def test_a_replay_of_no_rows_is_whole(line: Line) -> None:
    """And its result is JSON where that is asked for."""
    done = run(
        "backfill",
        "replay",
        "--table",
        TABLE,
        "--to",
        "jsonl:none",
        "-o",
        "json",
        "--start-ts",
        "2020-01-01",
        "--end-ts",
        "2020-01-02",
        cwd=line.root,
    )  # fmt: skip - a command line
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    assert said == json.loads((line.root / "none" / "certificate.json").read_text())
    assert (said["rows"], said["complete"]) == (0, True)


@pytest.mark.parametrize(
    ("command", "code", "said"),
    [
        ("router start", 2, "Missing option '-c' / '--config'"),
        ("router start -c streams/none.yaml", 78, "there is no such file"),
        ("router start -c streams/playback.yaml --output x", 2, "has no output x"),
        ("router start -c tables/starts.yaml", 78, "kind"),
        ("lake-writer start -c streams/playback.yaml", 78, "kind"),
        ("headrace produce --cluster far --topic t none.jsonl", 2, "defines no cluster far"),
        (
            "headrace produce --cluster fronting --topic t none.jsonl",
            1,
            "there is no file none.jsonl",
        ),
        (
            "headrace produce --cluster fronting --topic no/name events.jsonl",
            1,
            "a topic's name has",
        ),
        (
            "backfill replay --table lake.tv.x --start-ts x --end-ts 2026-01-01 --to jsonl:o",
            2,
            "x is not a time",
        ),
        (
            "backfill replay --table lake.tv.x --start-ts 2026-01-01 --end-ts 2026-01-01 --to jsonl:o",
            2,
            "is empty",
        ),
        (
            "backfill replay --table lake.tv.x --start-ts 2026-01-01 --end-ts 2026-01-02 --to jsonl:o",
            1,
            "there is no table lake.tv.x",
        ),
        (
            "backfill replay --table lake.tv.starts --start-ts 2026-01-01 --end-ts 2026-01-02 --to jsonl:tables",
            2,
            "is not an empty folder",
        ),
        (
            "backfill replay --table lake.tv.starts --start-ts 2026-01-01 --end-ts 2026-01-02 --to file:x",
            2,
            "is not a valid target",
        ),
    ],
)  # fmt: skip - a command to a line
def test_what_cannot_be_done_is_told_in_a_sentence(
    line: Line, command: str, code: int, said: str
) -> None:
    script, *arguments = command.split()
    done = run(script, *arguments, cwd=line.root, NO_COLOR="1", COLUMNS="200")
    assert (done.returncode, done.stdout) == (code, ""), done.stderr
    assert said in done.stderr
    assert "Traceback" not in done.stderr


def test_a_broker_that_is_away(tmp_path: Path) -> None:
    """Each waits for its answer: they are asked at once."""
    root = write_workspace(tmp_path, "away", "127.0.0.1:1")
    commands = [
        ["router", "start", "-c", "streams/playback.yaml", "--once"],
        ["lake-writer", "start", "-c", "tables/starts.yaml", "--once"],
        ["headrace", "produce", "streams/playback.yaml", "--cluster", "fronting", "--topic", "t"],
    ]
    pipe = subprocess.PIPE
    running = [
        subprocess.Popen([str(BIN / script), *rest], cwd=root, stdout=pipe, stderr=pipe, text=True)
        for script, *rest in commands
    ]
    for process in running:
        out, said = process.communicate(timeout=120)
        assert (process.returncode, out) == (1, ""), said
        assert "answers at 127.0.0.1:1" in said
        assert "headrace dev" in said
        assert "Traceback" not in said


def read_steps(folder: Path) -> list[dict[str, Any]]:
    lines = [
        text
        for file in sorted(folder.glob("step-*.jsonl"))
        for text in file.read_text().splitlines()
    ]
    return [json.loads(text) for text in lines]
