"""Leases over a file system that Hadoop knows: who holds, who is refused, who has lost."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from headrace.embedded.process import wait_until
from headrace.locks import AlreadyRunning
from headrace.queries import lease
from headrace.queries.hadoop_path import HadoopPath
from headrace.queries.lease import Lease, LeaseLost
from tests.limits import LIMIT_S

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession


@pytest.fixture
def place(spark: SparkSession, tmp_path: Path) -> HadoopPath:
    return HadoopPath(spark, f"file://{tmp_path}/app")


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
