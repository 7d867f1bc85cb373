"""An application with state and its replay, with checkpoints on a server that speaks S3."""

from __future__ import annotations

import json
import re
from functools import partial
from typing import TYPE_CHECKING, NamedTuple
from zipfile import ZipFile

import pytest
from pyarrow.fs import FileSelector, S3FileSystem

from backfill.run.request import state_of
from headrace.config.load import load_workspace
from headrace.iceberg.catalog import open_catalog
from headrace.jars.cache import ensure
from headrace.jars.lock import locked
from tests.end_to_end.commands import run
from tests.faults.far_workspace import (
    APP,
    Command,
    rows_in_table,
    whole_windows,
    windows_in,
)
from tests.integration.backfill.lake_tables import Stored, make_table
from tests.integration.pipelines import EVENT_SCHEMA, Pipelines, event
from tests.s3_server import BUCKET, SECRET, S3Server
from tests.short_lived import SPARK_CONF

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from headrace.embedded.broker import Broker

# Its tables are on S3, too: two clients of Amazon's then share a classpath.
HEADRACE_YAML = """\
clusters:
  fronting: {{bootstrap_servers: "{bootstrap}"}}
catalogs:
  lake: {{type: sql, uri: "sqlite:///.headrace/catalog.db", {lake}}}
checkpoint_dir: s3a://{bucket}/checkpoints
spark:
  master: local[2]
  conf:
    spark.driver.memory: 768m
    {s3a}
    {short_lived}
"""
EVENTS = 20_000


class OnS3(NamedTuple):
    """A workspace, and its checkpoints as another client sees them."""

    pipelines: Pipelines
    s3: S3FileSystem

    @property
    def root(self) -> Path:
        return self.pipelines.workspace.root

    def log(self, application: str, name: str) -> set[int]:
        """Return the batches that one of the logs of a checkpoint has."""
        folder = f"{BUCKET}/checkpoints/{application}/checkpoint/{name}"
        found = self.s3.get_file_info(FileSelector(folder, allow_not_found=True))
        return {int(one.base_name) for one in found if one.base_name.isdecimal()}

    def in_mid_batch(self, application: str, behind: int = 0) -> bool:
        """Whether a batch was begun that is not through, with so many batches behind it."""
        through = self.log(application, "commits")
        return len(through) >= behind and bool(self.log(application, "offsets") - through)


@pytest.fixture(scope="module")
def on_s3(tmp_path_factory: pytest.TempPathFactory, broker: Broker) -> Iterator[OnS3]:
    root = tmp_path_factory.mktemp("on_s3") / "ws"
    root.mkdir()
    with S3Server() as s3:
        text = HEADRACE_YAML.format(
            bootstrap=broker.bootstrap_servers,
            lake=", ".join(f'{name}: "{value}"' for name, value in s3.properties.items()),
            bucket=BUCKET,
            s3a=s3.spark_conf,
            short_lived=SPARK_CONF.replace(", ", "\n    "),
        )
        (root / "headrace.yaml").write_text(text)
        client = S3FileSystem(
            endpoint_override=s3.endpoint,
            region="us-east-1",
            access_key="somebody",
            secret_key=SECRET,
        )
        yield OnS3(Pipelines(load_workspace(root)), client)


def test_tables_and_checkpoints_come_with_one_version_of_amazons_sdk() -> None:
    """Of two on one classpath, classes of either would call the other's."""
    (bundle,) = ensure("s3")
    with ZipFile(bundle) as packed:
        about = packed.read("META-INF/maven/software.amazon.awssdk/s3control/pom.properties")
    (in_bundle,) = re.findall(r"^version=(\S+)$", about.decode(), re.MULTILINE)
    ours = {jar.version for jar in locked("s3a") if jar.group == "software.amazon.awssdk"}
    assert ours == {in_bundle}


@pytest.mark.long
def test_an_application_that_is_killed_in_mid_batch(on_s3: OnS3) -> None:
    pipelines, workspace = on_s3.pipelines, on_s3.pipelines.workspace
    pipelines.make_topic("s3-windows", 2)
    live = {"type": "kafka", "cluster": "fronting", "topics": "s3-windows", "format": "json"}
    live["schema"] = "schemas/event.avsc"
    pipelines.write("schemas/event.avsc", EVENT_SCHEMA)
    sink = {"type": "iceberg", "catalog": "lake", "database": "tv", "table": "windows"}
    app = {**APP, "name": "windows", "sources": {"live": live}, "sink": sink}
    command = ("headrace", "run", "-c", str(pipelines.write("apps/windows.yaml", app)))
    half = EVENTS // 2
    pipelines.send("s3-windows", map(event, range(half)))
    with Command(on_s3.root, *command) as running:
        running.wait_for(lambda: rows_in_table(workspace, "windows") >= len(whole_windows(half)))
        pipelines.send("s3-windows", map(event, range(half, half + 1000)))
        running.wait_for(lambda: on_s3.in_mid_batch("app/windows"))
    begun = on_s3.log("app/windows", "offsets")
    pipelines.send("s3-windows", map(event, range(half + 1000, EVENTS)))
    with Command(on_s3.root, *command) as running:
        running.wait_for(lambda: rows_in_table(workspace, "windows") >= len(whole_windows(EVENTS)))
        running.stop()
    assert windows_in(workspace, "windows") == whole_windows(EVENTS)
    # It went on from there, and did not begin again.
    assert begun < on_s3.log("app/windows", "commits")


@pytest.mark.long
def test_a_replay_that_is_killed_in_mid_batch(on_s3: OnS3) -> None:
    workspace = on_s3.pipelines.workspace
    past = [Stored(number % 2, number, number / 1000) for number in range(EVENTS)]
    table = make_table(open_catalog(workspace.catalog("lake")), "past", [past], 500, at="at")
    _, database, name = table.split(".")
    source = {"type": "iceberg", "catalog": "lake", "database": database, "table": name}
    source["max_misalignment_threshold"] = "1s"
    sink = {"type": "iceberg", "catalog": "lake", "database": "tv", "table": "again"}
    app = {**APP, "name": "again", "sources": {"live": source}, "sink": sink}
    path = on_s3.pipelines.write("apps/again.yaml", app)
    begin = ("-c", str(path), "--start-ts", "2020-01-01", "--end-ts", "2120-01-01")
    state = state_of(workspace, "killed")
    for done in (2, 8, 14):
        words = ("--resume",) if state.exists else begin
        with Command(on_s3.root, "backfill", "replay", *words, "--run-id", "killed") as running:
            running.wait_for(partial(on_s3.in_mid_batch, "backfill/killed", done))
    ended = run(
        "backfill", "replay", "--resume", "--run-id", "killed", "-o", "json", cwd=on_s3.root
    )
    assert ended.returncode == 0, ended.stderr
    certificate = json.loads(ended.stdout)
    found = {key: certificate[key] for key in ("complete", "rows", "dropped_late")}
    assert found == {"complete": True, "rows": EVENTS, "dropped_late": 0}
    assert windows_in(workspace, "again") == whole_windows(EVENTS)
