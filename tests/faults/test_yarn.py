"""Router, lake writer and an application with state on YARN, its checkpoint on HDFS."""

from __future__ import annotations

import os
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

from headrace.config.load import load_workspace
from headrace.jvm.environment import pack
from tests.faults.far_workspace import (
    APP,
    Command,
    ids_in_table,
    rows_in_table,
    whole_windows,
    windows_in,
)
from tests.faults.router_process import ids_of
from tests.hadoop_cluster import HadoopCluster
from tests.integration.pipelines import Pipelines, event
from tests.s3_server import S3Server
from tests.short_lived import SPARK_CONF

if TYPE_CHECKING:
    from collections.abc import Iterator

    from headrace.embedded.broker import Broker

HEADRACE_YAML = """\
clusters:
  fronting: {{bootstrap_servers: "{bootstrap}"}}
  consumer: {{bootstrap_servers: "{bootstrap}"}}
catalogs:
  lake: {{type: sql, uri: "sqlite:///.headrace/catalog.db", {lake}}}
checkpoint_dir: {hdfs}/checkpoints
spark:
  master: yarn
  conf:
    spark.archives: environment.tar.gz#environment
    spark.pyspark.python: ./environment/bin/python
    spark.yarn.jars: local:{jars}/*
    spark.yarn.am.memory: 384m
    spark.yarn.appMasterEnv.SPARK_LOCAL_IP: 127.0.0.1
    spark.executorEnv.SPARK_LOCAL_IP: 127.0.0.1
    spark.executor.instances: 2
    spark.executor.memory: 512m
    spark.executor.memoryOverhead: 256m
    spark.driver.memory: 768m
    spark.driver.host: 127.0.0.1
    spark.driver.bindAddress: 127.0.0.1
    {short_lived}
"""
EVENTS = 20_000


@pytest.fixture
def on_yarn(tmp_path: Path, broker: Broker, monkeypatch: pytest.MonkeyPatch) -> Iterator[Pipelines]:
    """A workspace whose Spark is a YARN of two nodes."""
    spec = find_spec("pyspark")
    assert spec is not None
    assert spec.origin is not None
    with (
        HadoopCluster(tmp_path / "hadoop", node_managers=2, mb_each=3072) as hadoop,
        S3Server() as s3,
    ):
        root = tmp_path / "ws"
        root.mkdir()
        pack(root / "environment.tar.gz", minimal=True)
        text = HEADRACE_YAML.format(
            bootstrap=broker.bootstrap_servers,
            lake=", ".join(f'{name}: "{value}"' for name, value in s3.properties.items()),
            hdfs=hadoop.url,
            jars=Path(spec.origin).parent / "jars",
            short_lived=SPARK_CONF.replace(", ", "\n    "),
        )
        (root / "headrace.yaml").write_text(text)
        monkeypatch.setenv("HADOOP_CONF_DIR", str(hadoop.conf))
        monkeypatch.setenv("HADOOP_USER_NAME", os.environ.get("USER", "root"))
        monkeypatch.setenv("SPARK_LOCAL_IP", "127.0.0.1")
        yield Pipelines(load_workspace(root))


@pytest.mark.long
def test_a_workspace_and_an_application_with_state(on_yarn: Pipelines) -> None:
    workspace = on_yarn.workspace
    on_yarn.make_topic("yarn", 4)
    on_yarn.make_topic("yarn.all", 4, "consumer")
    on_yarn.stream("yarn", [{"name": "all"}])
    on_yarn.table("yarn", "yarn.all")
    on_yarn.send("yarn", map(event, range(EVENTS // 2)))
    with Command(workspace.root, "headrace", "up") as running:
        running.wait_for(lambda: len(ids_in_table(workspace, "yarn")) >= EVENTS // 2)
        running.stop()
    assert np.array_equal(ids_in_table(workspace, "yarn"), np.arange(EVENTS // 2))
    routed = ids_of(workspace.cluster("consumer"), "yarn.all")
    assert np.array_equal(np.sort(routed), np.arange(EVENTS // 2))
    live = {"type": "kafka", "cluster": "fronting", "topics": "yarn", "format": "json"}
    live["schema"] = "schemas/event.avsc"
    sink = {"type": "iceberg", "catalog": "lake", "database": "tv", "table": "windows"}
    app = {**APP, "name": "windows", "sources": {"live": live}, "sink": sink}
    command = ("headrace", "run", "-c", str(on_yarn.write("apps/windows.yaml", app)))
    with Command(workspace.root, *command) as running:
        running.wait_for(
            lambda: rows_in_table(workspace, "windows") >= len(whole_windows(EVENTS // 2))
        )
    # It was killed; its state is on HDFS.
    on_yarn.send("yarn", map(event, range(EVENTS // 2, EVENTS)))
    with Command(workspace.root, *command) as running:
        running.wait_for(lambda: rows_in_table(workspace, "windows") >= len(whole_windows(EVENTS)))
        running.stop()
    assert windows_in(workspace, "windows") == whole_windows(EVENTS)
