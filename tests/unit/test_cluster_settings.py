"""Where tasks run on other machines: what travels, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from headrace.jvm.cluster import (
    NotReached,
    cluster_settings,
    is_local,
    is_on_this_machine,
    require_reached,
)

ROOT = Path("/ws")
JARS = [Path("/cache/a-1.jar"), Path("/cache/b-2.jar")]
FAR = "spark://10.0.0.1:7077"


@pytest.mark.parametrize(
    ("master", "local", "here"),
    [
        ("local", True, True),
        ("local[*]", True, True),
        ("local[2,3]", True, True),
        ("spark://127.0.0.1:7077", False, True),
        ("spark://localhost:7077,127.0.0.1:7078", False, True),
        ("spark://127.0.0.1:7077,10.0.0.1:7077", False, False),
        (FAR, False, False),
        ("yarn", False, False),
        ("k8s://https://127.0.0.1:6443", False, False),
        ("local-cluster[2,1,1024]", False, False),
    ],
)
def test_where_tasks_run(master: str, local: bool, here: bool) -> None:
    assert (is_local(master), is_on_this_machine(master)) == (local, here)


def test_jars_go_along_but_for_those_that_lie_on_the_workers() -> None:
    given = {"spark.jars": "local:/opt/jars/b-2.jar, mine.jar"}
    found = cluster_settings(FAR, JARS, given, ROOT)
    assert found["spark.jars"] == "local:/opt/jars/b-2.jar,/ws/mine.jar,/cache/a-1.jar"
    assert found["spark.executor.extraClassPath"] == "/cache/a-1.jar:/cache/b-2.jar"
    yarn = cluster_settings("yarn", JARS, {}, ROOT)
    assert yarn["spark.yarn.dist.jars"] == "/cache/a-1.jar,/cache/b-2.jar"
    # They are where an executor starts.
    assert yarn["spark.executor.extraClassPath"] == "a-1.jar:b-2.jar"
    own = {"spark.executor.extraClassPath": "/opt/x.jar"}
    assert "spark.executor.extraClassPath" not in cluster_settings("yarn", JARS, own, ROOT)


def test_an_archive_is_found_from_the_workspace() -> None:
    given = {"spark.archives": "environment.tar.gz#environment,hdfs://nn:8020/b.zip"}
    archives = "/ws/environment.tar.gz#environment,hdfs://nn:8020/b.zip"
    assert cluster_settings(FAR, [], given, ROOT)["spark.archives"] == archives
    assert cluster_settings("yarn", [], given, ROOT)["spark.yarn.dist.archives"] == archives


@pytest.mark.parametrize("location", ["/data/lake", "file:///data/lake", "file:/data/lake"])
def test_a_folder_of_the_drivers_disk_is_refused(location: str) -> None:
    with pytest.raises(NotReached, match="the warehouse is /data/lake, a folder of this machine"):
        require_reached("the warehouse", location, FAR, [Path("/data/lake2"), Path("/dat")])
    require_reached("the warehouse", location, "spark://127.0.0.1:7077", [])
    require_reached("the warehouse", location, FAR, [Path("/data/../data")])


@pytest.mark.parametrize("location", ["s3://b/x", "s3a://b/x", "hdfs://nn:8020/x", "abfss://c@a/x"])
def test_storage_of_the_cluster_is_taken(location: str) -> None:
    require_reached("the warehouse", location, FAR, [])
