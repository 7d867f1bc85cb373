"""Leases over a file system that Hadoop knows: who holds, who is refused, who has lost."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import pytest

from headrace.embedded.process import wait_until
from headrace.jars.cache import ensure
from headrace.locks import AlreadyRunning
from headrace.queries import lease
from headrace.queries.hadoop_path import HadoopPath
from headrace.queries.lease import Lease, LeaseLost
from tests.limits import LIMIT_S
from tests.s3_server import BUCKET, S3Server

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pyspark.sql import SparkSession


@pytest.fixture(scope="module")
def on_s3(spark: SparkSession) -> Iterator[str]:
    """A URL of S3 that the shared session reaches, with the jars that a workspace there has."""
    java: Any = spark._jvm  # noqa: SLF001 - Spark has no other way to Hadoop
    hadoop: Any = spark._jsc.hadoopConfiguration()  # noqa: SLF001 - as above
    jars = ensure("s3a")
    gateway: Any = spark._sc._gateway  # noqa: SLF001 - as above
    urls = gateway.new_array(java.java.net.URL, len(jars))
    for number, jar in enumerate(jars):
        urls[number] = java.java.net.URL(jar.as_uri())
    before = hadoop.getClassLoader()
    with S3Server() as server:
        hadoop.setClassLoader(java.java.net.URLClassLoader(urls, before))
        for name, value in server.hadoop_settings.items():
            hadoop.set(name, value)
        yield f"s3a://{BUCKET}"
        hadoop.setClassLoader(before)


@pytest.fixture(params=["file", "s3a"])
def place(request: pytest.FixtureRequest, spark: SparkSession, tmp_path: Path) -> HadoopPath:
    """A folder on a disk, and one in a store that has no rename and no folders."""
    if request.param == "file":
        return HadoopPath(spark, f"file://{tmp_path}/app")
    return HadoopPath(spark, f"{request.getfixturevalue('on_s3')}/{tmp_path.name}/app")


def names(place: HadoopPath) -> list[str]:
    return sorted(one.name for one in place.glob("*") if not one.name.startswith("."))


def test_one_holds_and_another_host_is_refused(place: HadoopPath) -> None:
    with Lease(place, "application a", "here") as held:
        held.require()
        with pytest.raises(AlreadyRunning, match=r"application a already runs \(host .* heard of"):
            Lease(place, "application a", "there").__enter__()
        held.require()
        assert len(names(place)) == 2
    assert names(place) == []
    with Lease(place, "application a", "there") as held:
        held.require()


def test_who_was_killed_goes_on_at_once_where_it_was(
    place: HadoopPath, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lease, "BEAT_EVERY_S", 0.05)
    dead = Lease(place, "application a", "here").__enter__()
    with Lease(place, "application a", "here") as held:
        assert wait_until(lambda: dead.lost is not None, LIMIT_S)
        with pytest.raises(LeaseLost, match="another host has taken it over"):
            dead.require()
        held.require()


def test_who_is_silent_for_long_loses_it(
    place: HadoopPath, monkeypatch: pytest.MonkeyPatch
) -> None:
    silent = Lease(place, "application a", "here").__enter__()
    monkeypatch.setattr(lease, "DEAD_AFTER_S", 0.0)
    with Lease(place, "application a", "there") as held:
        monkeypatch.setattr(lease, "GIVES_UP_AFTER_S", 0.0)
        with pytest.raises(LeaseLost, match="it could not say for"):
            silent.require()
        monkeypatch.setattr(lease, "GIVES_UP_AFTER_S", LIMIT_S)
        held.require()
    silent.__exit__(None, None, None)


def test_a_number_that_was_given_again_is_no_lease_of_who_had_it_before(
    place: HadoopPath, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Long enough to be asleep meanwhile; whoever wakes earlier sees the one in between.
    monkeypatch.setattr(lease, "BEAT_EVERY_S", 2.0)
    asleep = Lease(place, "application a", "here").__enter__()
    monkeypatch.setattr(lease, "DEAD_AFTER_S", 0.0)
    with Lease(place, "application a", "there"):
        pass
    with Lease(place, "application a", "there") as held:
        assert wait_until(lambda: asleep.lost == "another host has taken it over", LIMIT_S)
        held.require()


def test_paths_of_hadoop_do_what_those_of_python_do(place: HadoopPath) -> None:
    file = place / "one.json"
    assert (file.exists(), list(place.glob("*"))) == (False, [])
    assert file.create(b"1")
    assert not file.create(b"2")
    assert (file.read_bytes(), file.name, str(file.parent)) == (b"1", "one.json", str(place))
    file.with_name("two.json").write(bytes(range(256)))
    assert (place / "two.json").read_bytes() == bytes(range(256))
    assert [one.name for one in place.glob("o*")] == ["one.json"]
    file.unlink()
    file.unlink()
    assert not file.exists()


def test_of_many_that_create_a_file_on_s3_at_once_one_does(spark: SparkSession, on_s3: str) -> None:
    with ThreadPoolExecutor(8) as pool:
        for number in range(10):
            file = HadoopPath(spark, f"{on_s3}/at-once/claim-{number}")
            contents = [bytes([one]) for one in range(8)]
            done = list(pool.map(file.create, contents))
            assert sum(done) == 1
            assert file.read_bytes() == contents[done.index(True)]
