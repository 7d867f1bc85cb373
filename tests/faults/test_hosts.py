"""A cluster whose machines have no disk in common, with the driver or with each other."""

from __future__ import annotations

import json
import shutil
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pytest

from headrace.config.load import load_workspace
from headrace.embedded.broker import free_port
from headrace.jvm.environment import pack
from headrace.kafka.cluster import KafkaCluster
from tests.end_to_end.commands import run
from tests.faults.disturbed_hosts import Disturbed
from tests.faults.far_workspace import (
    APP,
    Command,
    ids_in_table,
    rows_in_table,
    whole_windows,
    windows_in,
)
from tests.faults.router_process import Traffic, ids_of, ledger_sums
from tests.hadoop_cluster import HadoopCluster
from tests.hosts import Hosts, may_be_made
from tests.integration.pipelines import EVENT_SCHEMA, Pipelines, event
from tests.s3_server import BUCKET, S3Server
from tests.short_lived import SPARK_CONF
from tests.spark_pages import SparkPages

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

pytestmark = pytest.mark.skipif(
    not may_be_made(), reason="making hosts takes root, and namespaces of one's own"
)
HEADRACE_YAML = """\
clusters:
  fronting: {{bootstrap_servers: "{bootstrap}"}}
  consumer: {{bootstrap_servers: "{bootstrap}"}}
catalogs:
  lake: {{type: sql, uri: "sqlite:///.headrace/catalog.db", {lake}}}
spark:
  master: {master}
  conf:
    spark.archives: environment.tar.gz#environment
    spark.pyspark.python: ./environment/bin/python
    spark.driver.host: {address}
    spark.driver.bindAddress: {address}
    spark.driver.memory: 768m
    spark.executor.memory: 640m
    spark.network.timeout: 30s
    spark.network.timeoutInterval: 10s
    spark.executor.heartbeatInterval: 3s
    {s3a}
    {short_lived}
"""
# It has records for some seconds of a slow host.
BATCH = "5s"
STORAGES = ("hdfs", "s3a")
EVENTS = 20_000
MANY = 1_000_000


@dataclass
class Far:
    """A workspace whose Spark has two hosts."""

    hosts: Hosts
    pipelines: Pipelines

    @property
    def root(self) -> Path:
        return self.pipelines.workspace.root

    def checkpoint_dir(self, url: str | None) -> None:
        """Say in headrace.yaml where checkpoints of applications lie."""
        file = self.root / "headrace.yaml"
        lines = [one for one in file.read_text().splitlines() if "checkpoint_dir" not in one]
        lines += [] if url is None else [f"checkpoint_dir: {url}"]
        file.write_text("\n".join(lines) + "\n")

    def elsewhere(self) -> Path:
        """Return the same workspace as another host has it."""
        other = self.root.with_name("other")
        shutil.rmtree(other, ignore_errors=True)
        shutil.copytree(self.root, other, ignore=shutil.ignore_patterns(".headrace", "said-*"))
        state = self.root / ".headrace"
        shutil.copytree(state, other / ".headrace", ignore=_but_the_catalog)
        return other


@pytest.fixture(scope="module")
def far(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Far]:
    folder = tmp_path_factory.mktemp("far")
    with Hosts(folder) as hosts, hosts.broker(), S3Server(host=hosts.address) as s3:
        hosts.start_master()
        hosts.start_workers(2)
        root = folder / "ws"
        root.mkdir()
        pack(root / "environment.tar.gz", minimal=True)
        text = HEADRACE_YAML.format(
            bootstrap=hosts.bootstrap,
            lake=", ".join(f'{name}: "{value}"' for name, value in s3.properties.items()),
            master=hosts.master,
            address=hosts.address,
            s3a=s3.spark_conf,
            short_lived=SPARK_CONF.replace(", ", "\n    "),
        )
        (root / "headrace.yaml").write_text(text)
        yield Far(hosts, Pipelines(load_workspace(root)))


def _but_the_catalog(_: str, names: list[str]) -> list[str]:
    return [name for name in names if name != "catalog.db"]


def test_a_workspace_on_hosts_that_see_nothing_of_the_driver(far: Far) -> None:
    far.pipelines.make_topic("far", 4)
    far.pipelines.make_topic("far.all", 4, "consumer")
    far.pipelines.stream("far", [{"name": "all"}])
    far.pipelines.table("far", "far.all")
    far.pipelines.send("far", map(event, range(EVENTS)))
    with Command(far.root, "headrace", "up") as running:
        running.wait_for(lambda: len(ids_in_table(far.pipelines.workspace, "far")) >= EVENTS)
        running.stop()
    cluster = far.pipelines.workspace.cluster("consumer")
    assert np.array_equal(np.sort(ids_of(cluster, "far.all")), np.arange(EVENTS))
    assert np.array_equal(ids_in_table(far.pipelines.workspace, "far"), np.arange(EVENTS))
    for number in (1, 2):
        # Each of them took part, and has no folder of the driver's.
        disk = far.hosts.folder / f"disk-{number}"
        (said,) = [path.read_text() for path in disk.glob("work/app-*/*/stderr")]
        assert "Finished task" in said
        assert not (disk / far.root.relative_to("/tmp")).exists()  # noqa: S108 - what a host has there


def test_a_table_on_the_drivers_disk_is_refused(far: Far) -> None:
    near = far.root / "headrace.yaml"
    text = near.read_text()
    here = text.replace("s3://lake/warehouse", ".headrace/warehouse").replace("tv.db", "other.db")
    near.write_text(here)
    try:
        far.pipelines.make_topic("here", 1)
        table = far.pipelines.table("here", "here")
        done = run("lake-writer", "start", "-c", str(table), "--once", cwd=far.root)
    finally:
        near.write_text(text)
    assert done.returncode == 1
    assert "a folder of this machine's disk" in done.stderr
    assert "shared_folders" in done.stderr


NEAR_SINK = {"type": "kafka", "cluster": "consumer", "topic": "near.out", "format": "json"}


def windowed(far: Far, name: str, sink: Mapping[str, object]) -> Path:
    """Write an application with state: a window of a second, a thousand events in each."""
    live = {"type": "kafka", "cluster": "fronting", "topics": name, "format": "json"}
    live["schema"] = "schemas/event.avsc"
    far.pipelines.write("schemas/event.avsc", EVENT_SCHEMA)
    app = {**APP, "name": name, "sources": {"live": live}, "sink": sink}
    return far.pipelines.write(f"apps/{name}.yaml", app)


@contextmanager
def reached_by_all(far: Far, storage: str, name: str) -> Iterator[None]:
    """Let checkpoints be on storage that all hosts reach."""
    with ExitStack() as held:
        url = f"s3a://{BUCKET}"
        if storage == "hdfs":
            folder = far.hosts.folder / f"hadoop-{name}"
            url = held.enter_context(HadoopCluster(folder, far.hosts.address)).url
        far.checkpoint_dir(f"{url}/checkpoints")
        held.callback(far.checkpoint_dir, None)
        yield


@pytest.mark.long
@pytest.mark.parametrize("storage", STORAGES)
def test_an_application_whose_state_all_hosts_reach(far: Far, storage: str) -> None:
    """It is killed, and goes on from its checkpoint; on another host it is refused meanwhile."""
    name, workspace = f"windows_{storage}", far.pipelines.workspace
    far.pipelines.make_topic(name, 2)
    sink = {"type": "iceberg", "catalog": "lake", "database": "tv", "table": name}
    app = windowed(far, name, sink)
    with reached_by_all(far, storage, name):
        far.pipelines.send(name, map(event, range(EVENTS // 2)))
        command = ("headrace", "run", "-c", str(app))
        with Command(far.root, *command) as running:
            running.wait_for(lambda: rows_in_table(workspace, name) >= EVENTS // 2 // 1000 - 1)
            # Another host has a state_dir of its own.
            refused = run(*command, cwd=far.elsewhere())
            assert refused.returncode == 1, refused.stderr
            assert f"application {name} already runs (host " in refused.stderr
        far.pipelines.send(name, map(event, range(EVENTS // 2, EVENTS)))
        with Command(far.root, *command) as running:
            running.wait_for(lambda: rows_in_table(workspace, name) >= EVENTS // 1000 - 1)
            running.stop()
    assert windows_in(workspace, name) == whole_windows(EVENTS)


@pytest.mark.long
@pytest.mark.parametrize("storage", STORAGES)
def test_a_replay_whose_state_all_hosts_reach(far: Far, storage: str) -> None:
    """Its tasks have no catalog and no plan; what they measure is in the certificate."""
    past, again = f"past_{storage}", f"again_{storage}"
    far.pipelines.make_topic(past, 2)
    far.pipelines.send(past, map(event, range(EVENTS)))
    table = far.pipelines.table(past, past)
    landed = run("lake-writer", "start", "-c", str(table), "--once", cwd=far.root)
    assert landed.returncode == 0, landed.stderr
    sink = {"type": "iceberg", "catalog": "lake", "database": "tv", "table": again}
    source = {"type": "iceberg", "catalog": "lake", "database": "tv", "table": past}
    app = far.pipelines.write(
        f"apps/{again}.yaml", {**APP, "name": again, "sources": {"live": source}, "sink": sink}
    )
    asked = ("--start-ts", "2020-01-01", "--end-ts", "2120-01-01", "--run-id", storage)
    with reached_by_all(far, storage, again):
        done = run("backfill", "replay", "-c", str(app), *asked, "-o", "json", cwd=far.root)
        assert done.returncode == 0, done.stderr
        listed = run("backfill", "status", "-o", "json", cwd=far.root)
    certificate = json.loads(done.stdout)
    found = {name: certificate[name] for name in ("complete", "rows", "dropped_late")}
    assert found == {"complete": True, "rows": EVENTS, "dropped_late": 0}
    assert windows_in(far.pipelines.workspace, again) == whole_windows(EVENTS)
    (status,) = [one for one in json.loads(listed.stdout) if one["run_id"] == storage]
    assert status["steps_done"] == status["steps"] > 0


def test_a_checkpoint_on_the_drivers_disk_is_refused(far: Far) -> None:
    far.checkpoint_dir(None)
    app = windowed(far, "near", NEAR_SINK)
    far.pipelines.make_topic("near", 1)
    done = run("headrace", "run", "-c", str(app), "--once", cwd=far.root)
    assert done.returncode == 1
    assert "the checkpoint of application near is" in done.stderr
    assert "checkpoint_dir: hdfs://HOST:PORT/…" in done.stderr


@pytest.fixture
def pages(far: Far) -> Iterator[SparkPages]:
    """Where commands of the workspace show their tasks, for the length of a test."""
    file = far.root / "headrace.yaml"
    before = file.read_text()
    shown = SparkPages(far.hosts.address, free_port())
    file.write_text(before.replace("  conf:\n", f"  conf:\n    {shown.conf}\n"))
    yield shown
    file.write_text(before)


@pytest.mark.long
def test_a_router_while_a_host_is_cut_off_and_another_one_dies(far: Far, pages: SparkPages) -> None:
    far.pipelines.make_topic("cut", 4)
    stream = far.pipelines.stream("cut", [{"name": "all"}], trigger=BATCH)
    workspace = far.pipelines.workspace
    cluster = workspace.cluster("consumer")

    def routed() -> int:
        there = "headrace.cut.ledger" in KafkaCluster(cluster).topics()
        return ledger_sums(cluster, "cut", "all").read if there else 0

    traffic = Traffic(workspace.cluster("fronting"), "cut", event, MANY, 5000, 0.1)
    with Command(far.root, "router", "start", "-c", str(stream)) as running, traffic:
        Disturbed(far.hosts, pages, running, traffic, routed).disturb()
        traffic.join()
        running.wait_for(lambda: routed() == MANY)
        running.stop()
    assert "Spark lost a task and tried it again" in running.said
    assert np.array_equal(np.sort(ids_of(cluster, "cut.all")), np.arange(MANY))
    sums = ledger_sums(cluster, "cut", "all")
    assert (sums.read, sums.written, sums.lost) == (MANY, MANY, 0)


@pytest.mark.long
def test_a_lake_writer_while_a_host_is_cut_off_and_another_one_dies(
    far: Far, pages: SparkPages
) -> None:
    far.pipelines.make_topic("landed", 4)
    table = far.pipelines.table("landed", "landed", batch={"max_interval": BATCH})
    workspace = far.pipelines.workspace
    traffic = Traffic(workspace.cluster("fronting"), "landed", event, MANY, 5000, 0.1)

    def landed() -> int:
        return len(ids_in_table(workspace, "landed"))

    with Command(far.root, "lake-writer", "start", "-c", str(table)) as running, traffic:
        Disturbed(far.hosts, pages, running, traffic, landed).disturb()
        traffic.join()
        running.wait_for(lambda: landed() >= MANY)
        running.stop()
    assert np.array_equal(ids_in_table(far.pipelines.workspace, "landed"), np.arange(MANY))
