"""A table that Iceberg's own sink for Kafka Connect wrote, replayed by its own times."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import pytest

from benchmarks.connect import Connector, java_command, worker_properties
from benchmarks.iceberg_connect import sink_connector
from benchmarks.lake import CATALOG, NAMESPACE, TABLE, Lake
from benchmarks.peers.connect_worker import Worker
from benchmarks.peers.iceberg_connect import committed
from headrace.config.load import load_workspace
from headrace.embedded.broker import HOST, free_port
from headrace.embedded.process import wait_until
from headrace.kafka.sender import KafkaRecord
from headrace.times import parse_time_us
from tests.integration.backfill.in_process import (
    PERIOD,
    Commands,
    offsets_by_partition,
    rows_in,
    worst_disorder_s,
)
from tests.integration.pipelines import Pipelines

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from headrace.config.workspace.workspace import Workspace

ROWS = 4_000
PARTITIONS = 2
COMMIT_LIMIT_S = 120
THRESHOLD_S = 60
# As the connector's own transform names it.
TIME_COLUMN = "__metadata__.timestamp"
HEADRACE_YAML = """\
catalogs:
  {catalog}: {{type: sql, uri: "sqlite:///{file}", warehouse: "{warehouse}"}}
"""


@pytest.fixture
def connect(
    workspace: Workspace, unique: Callable[[str], str], tmp_path: Path
) -> Iterator[tuple[Lake, Callable[[int], None]]]:
    """A worker that lands a topic; and what sends so many records and waits until they are in."""
    pipelines, topic = Pipelines(workspace), unique("connect")
    control = f"{topic}_control"
    pipelines.make_topic(topic, PARTITIONS)
    pipelines.make_topic(control)
    (tmp_path / "lake").mkdir()
    lake = Lake(tmp_path / "lake")
    lake.create_table()
    connector = sink_connector(lake, topic, topic, control)
    settings = worker_settings(workspace, connector, tmp_path)
    landed = committed({"catalog": str(lake.file), "name": [CATALOG, NAMESPACE, TABLE]})
    sent = 0

    def land(count: int) -> None:
        nonlocal sent
        pipelines.send(topic, [record(number) for number in range(sent, sent + count)])
        sent += count

        def arrived() -> bool:
            worker.require_alive()
            return landed() >= sent

        assert wait_until(arrived, COMMIT_LIMIT_S), (tmp_path / "worker.log").read_text()

    with Worker(settings) as worker:
        worker.wait_until_ready()
        worker.create({"name": connector.name, "config": connector.settings})
        yield lake, land


def worker_settings(workspace: Workspace, connector: Connector, folder: Path) -> dict[str, object]:
    servers, port = workspace.cluster("fronting").bootstrap_servers, free_port()
    lines = {**worker_properties(servers, connector.name, port), **connector.worker}
    properties = folder / "worker.properties"
    properties.write_text("".join(f"{name}={value}\n" for name, value in lines.items()))
    return {
        "argv": java_command(folder, properties),
        "address": f"http://{HOST}:{port}",
        "log": str(folder / "worker.log"),
    }


def record(number: int) -> KafkaRecord:
    """Make a record that arrives a second after the one before, now and then up to ten late."""
    first_ms = parse_time_us(PERIOD[1]) // 1000
    at_ms = first_ms + (number - number % 7 * (number % 3)) * 1000
    value = f'{{"event_id": "e{number}", "user_id": "u{number % 9}", "title_id": {number}}}'
    return KafkaRecord(
        value.encode(), timestamp_ms=max(first_ms, at_ms), partition=number % PARTITIONS
    )


@pytest.mark.long
def test_the_table_of_kafka_connect(
    connect: tuple[Lake, Callable[[int], None]],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    lake, land = connect
    for _ in range(4):
        land(ROWS // 4)
    text = HEADRACE_YAML.format(catalog=CATALOG, file=lake.file, warehouse=lake.warehouse)
    (tmp_path / "headrace.yaml").write_text(text, encoding="utf-8")
    commands = Commands(load_workspace(tmp_path), capsys)
    by = ("--time-column", TIME_COLUMN, "--max-misalignment", f"{THRESHOLD_S}s")
    for order in ("bounded", "strict"):
        out = tmp_path / order
        table = f"{CATALOG}.{NAMESPACE}.{TABLE}"
        done = commands.replay(table, f"jsonl:{out}", *by, "--order", order)
        assert done.code == 0, done.out
        rows = rows_in(out)
        assert Counter(row["title_id"] for row in rows) == Counter(range(ROWS))
        assert (done.json["complete"], done.json["differences"]) == (True, [])
        assert worst_disorder_s(rows, TIME_COLUMN) <= THRESHOLD_S
    assert offsets_by_partition(rows) == {n: list(range(ROWS // 2)) for n in range(PARTITIONS)}
