"""Land, audit, maintain and replay a table in other catalogs: PostgreSQL with S3, and REST."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from headrace.config.load import load_lake_table, load_workspace
from headrace.iceberg.catalog import table_loader
from headrace.kafka.sender import KafkaRecord
from lake_writer.audit import audit
from lake_writer.landed import Landed
from tests import postgres_server, rest_catalog_server, s3_server
from tests.conftest import headrace_yaml
from tests.integration.lake_writer.landing_table import places
from tests.integration.pipelines import Pipelines, event
from tests.limits import LONG_LIMIT_S
from tests.postgres_server import PostgresServer
from tests.rest_catalog_server import RestCatalogServer
from tests.s3_server import S3Server

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pyspark.sql import SparkSession

    from headrace.embedded.broker import Broker

BIN = Path(sys.executable).parent
T0_MS = 1_772_323_200_000
PERIOD = ("--start-ts", "2026-03-01T00:00:00Z", "--end-ts", "2026-03-01T01:00:00Z")
ROWS = 50
SECRETS = (
    postgres_server.PASSWORD,
    "not%20to%20be%20seen",
    s3_server.SECRET,
    rest_catalog_server.TOKEN,
)


@pytest.fixture(params=["postgres and s3", pytest.param("rest", marks=pytest.mark.long)])
def catalog(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[dict[str, str]]:
    """A catalog's part of headrace.yaml, with the servers that it needs."""
    if request.param == "rest":
        (tmp_path / "rest").mkdir()
        with RestCatalogServer(tmp_path / "rest") as rest:
            yield {"type": "rest", **rest.properties}
        return
    with PostgresServer() as postgres, S3Server() as s3:
        yield {"type": "sql", "uri": postgres.uri, **s3.properties}


def pipelines_on(broker: Broker, root: Path, catalog: dict[str, str]) -> Pipelines:
    root.mkdir()
    lines = headrace_yaml(broker).splitlines()
    named = [f"  lake: {json.dumps(catalog)}" if "lake:" in line else line for line in lines]
    (root / "headrace.yaml").write_text("\n".join(named))
    return Pipelines(load_workspace(root))


def run(root: Path, script: str, *arguments: str) -> dict[str, object]:
    """Run a console script as a user; returns what it reports."""
    command = [str(BIN / script), *arguments, "--workspace", str(root), "-o", "json"]
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=LONG_LIMIT_S, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    (root / f"said-{arguments[0]}").write_text(done.stdout + done.stderr)
    found: dict[str, object] = json.loads(done.stdout)
    return found


def test_a_table_from_its_first_commit_to_its_replay(
    spark: SparkSession,
    broker: Broker,
    tmp_path: Path,
    catalog: dict[str, str],
    unique: Callable[[str], str],
) -> None:
    name, root = unique("stored"), tmp_path / "workspace"
    pipelines = pipelines_on(broker, root, catalog)
    pipelines.make_topic(name)
    pipelines.send(name, [KafkaRecord(event(n), timestamp_ms=T0_MS + n) for n in range(ROWS)])
    path = pipelines.table(name, name, batch={"max_rows": 10})
    assert pipelines.land(spark, path) == Landed(commits=5, rows=ROWS)
    load = table_loader(pipelines.workspace, f"lake.tv.{name}")
    landed = places(load())
    assert landed == [(0, offset) for offset in range(ROWS)]
    maintained = run(root, "lake-writer", "maintain", "-c", str(path))
    assert (maintained["files_before"], maintained["files_after"]) == (5, 1)
    assert maintained["orphans_removed"] == 0
    assert places(load()) == landed
    pipelines.send(name, [KafkaRecord(event(ROWS), timestamp_ms=T0_MS + ROWS)])
    assert pipelines.land(spark, path) == Landed(commits=1, rows=1)
    assert audit(pipelines.workspace, load_lake_table(path, pipelines.workspace)).ok
    to = ("--table", f"lake.tv.{name}", "--to", f"jsonl:{root}/replayed", *PERIOD)
    assert run(root, "backfill", "replay", *to)["rows"] == ROWS + 1
    assert_nobody_saw_a_secret(root, load().metadata.model_dump_json())


def assert_nobody_saw_a_secret(root: Path, metadata: str) -> None:
    """Look into all that the commands wrote, but for headrace.yaml itself."""
    written = [file for file in root.rglob("*") if file.is_file() and file.name != "headrace.yaml"]
    assert any(file.name.startswith("spark-") for file in written)
    for secret in SECRETS:
        assert secret not in metadata
        for file in written:
            assert secret.encode() not in file.read_bytes(), file
