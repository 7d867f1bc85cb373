"""The writer ends between any two of its steps, or finds another checkpoint or table: none lost."""

from __future__ import annotations

import shutil
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from pyiceberg.catalog.sql import SqlCatalog

from headrace.config.load import load_lake_table
from headrace.errors import HeadraceError, Terminal
from headrace.kafka.cluster import KafkaCluster
from headrace.landing import commits as protocol
from headrace.landing.commits import TableCommits
from headrace.landing.completeness import completeness_property
from headrace.line import turns
from headrace.line.line import Line
from headrace.signals import Drain
from lake_writer import writer as stage
from lake_writer.landed import Landed
from lake_writer.writer import LakeWriter, LandingJob
from tests.integration.lake_writer.landing_table import places
from tests.integration.pipelines import Pipelines, event

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from pyiceberg.table import Table
    from pyspark.sql import SparkSession

    from lake_writer.task import Written


# PySpark leaves the sockets that it collects over to the garbage collector.
pytestmark = pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning")


@pytest.fixture
def name(unique: Callable[[str], str], pipelines: Pipelines) -> str:
    chosen = unique("crashed")
    pipelines.make_topic(chosen, partitions=2)
    return chosen


class Crash(Exception):
    """As if the process ended here."""


def in_topic(pipelines: Pipelines, name: str) -> list[tuple[int, int]]:
    return [(one.partition, one.offset) for one in pipelines.seen(name, "fronting")]


@pytest.mark.parametrize(
    "step", ["files written", "manifests written", "catalog done", "table committed"]
)
def test_a_crash_between_two_steps(
    spark: SparkSession,
    pipelines: Pipelines,
    name: str,
    load: Callable[[], Table],
    monkeypatch: pytest.MonkeyPatch,
    step: str,
) -> None:
    target, attribute = {
        "files written": (TableCommits, "commit"),
        "manifests written": (SqlCatalog, "commit_table"),
        "catalog done": (SqlCatalog, "commit_table"),
        "table committed": (TableCommits, "commit"),
    }[step]
    whole = getattr(target, attribute)

    def crashing(*arguments: object) -> None:
        if step not in {"files written", "manifests written"}:
            whole(*arguments)
        raise Crash("injected")

    path = pipelines.table(name, name, batch={"max_rows": 10})
    # The table is there: what crashes is a commit of rows.
    pipelines.send(name, [event(0)])
    pipelines.land(spark, path)
    pipelines.send(name, [*map(event, range(1, 20)), b"poison"])
    with monkeypatch.context() as patched:
        # Nobody is left to look again, or to start it again.
        patched.setattr(protocol, "ATTEMPTS", 1)
        patched.setattr(turns, "MOST_TRIES_ONCE", 1)
        patched.setattr(target, attribute, crashing)
        with pytest.raises(HeadraceError):
            pipelines.land(spark, path)
    pipelines.land(spark, path)
    assert pipelines.land(spark, path) == Landed()
    poison = [
        (one.partition, one.offset)
        for one in pipelines.seen(name, "fronting")
        if one.value == b"poison"
    ]
    assert places(load()) == sorted(set(in_topic(pipelines, name)) - set(poison))


def test_a_checkpoint_of_another_time_or_another_table_has_no_say(
    spark: SparkSession, pipelines: Pipelines, name: str, load: Callable[[], Table], tmp_path: Path
) -> None:
    path = pipelines.table(name, name)
    checkpoint = pipelines.workspace.state_dir / "lake_writer" / name / "checkpoint"
    pipelines.send(name, map(event, range(10)))
    pipelines.land(spark, path)
    shutil.copytree(checkpoint, tmp_path / "older")
    pipelines.send(name, map(event, range(10, 20)))
    pipelines.land(spark, path)
    shutil.copytree(checkpoint, tmp_path / "newer")
    # Older than the table.
    shutil.rmtree(checkpoint)
    shutil.copytree(tmp_path / "older", checkpoint)
    assert pipelines.land(spark, path) == Landed()
    # Copied to the writer of a table that has nothing yet.
    second = pipelines.table(f"{name}_second", name)
    copied = pipelines.workspace.state_dir / "lake_writer" / f"{name}_second" / "checkpoint"
    shutil.copytree(tmp_path / "newer", copied)
    assert pipelines.land(spark, second).rows == 20
    assert places(load()) == in_topic(pipelines, name)


def test_compaction_and_expiry_in_between(
    spark: SparkSession, pipelines: Pipelines, name: str, load: Callable[[], Table]
) -> None:
    path = pipelines.table(name, name, batch={"max_rows": 5})
    pipelines.send(name, map(event, range(20)))
    pipelines.land(spark, path)
    table, newest = f"table => 'tv.{name}'", "older_than => TIMESTAMP '2100-01-01 00:00:00'"
    spark.sql(
        f"CALL lake.system.rewrite_data_files({table},"
        " options => map('min-input-files', '2', 'rewrite-all', 'true'))"
    )
    spark.sql(f"CALL lake.system.rewrite_manifests({table})")
    spark.sql(f"CALL lake.system.expire_snapshots({table}, {newest}, retain_last => 1)")
    assert [one.summary and one.summary.operation.value for one in load().metadata.snapshots] == [
        "replace"
    ]
    pipelines.send(name, map(event, range(20, 27)))
    assert pipelines.land(spark, path).rows == 7
    assert places(load()) == in_topic(pipelines, name)


def test_another_machine_lands_in_the_middle_of_a_batch(
    spark: SparkSession,
    pipelines: Pipelines,
    name: str,
    load: Callable[[], Table],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    """It has another state_dir: no lock file in common, only the table."""
    path = pipelines.table(name, name)
    pipelines.send(name, map(event, range(30)))
    elsewhere = Pipelines(replace(pipelines.workspace, state_dir=tmp_path))
    whole = LandingJob.finish
    other = LakeWriter(elsewhere.workspace, load_lake_table(path, elsewhere.workspace))
    other.prepare()

    def overtaken(job: LandingJob, answers: Sequence[Written]) -> None:
        monkeypatch.undo()
        # The other one's query has a name of its own in this process' one Spark.
        monkeypatch.setattr(stage, "Line", lambda _, *more, once: Line("other", *more, once=once))
        other.run(spark, Drain(), once=True)
        whole(job, answers)

    monkeypatch.setattr(LandingJob, "finish", overtaken)
    with pytest.raises(Terminal, match=rf"stops: {name} on .* committed \(table lake.tv.{name}\)"):
        pipelines.land(spark, path)
    assert places(load()) == in_topic(pipelines, name)


def test_the_table_says_up_to_when_it_is_complete(
    spark: SparkSession, pipelines: Pipelines, name: str, load: Callable[[], Table]
) -> None:
    path = pipelines.table(name, name, batch={"max_rows": 4})
    pipelines.send(name, map(event, range(9)))
    pipelines.land(spark, path)
    said = load().properties[completeness_property(name)]
    ends = {str(p): span.stop for p, span in offsets(pipelines, name).items()}
    assert said.startswith('{"time":"20')
    assert said.endswith(f'"next":{{"0":{ends["0"]},"1":{ends["1"]}}}}}')


def offsets(pipelines: Pipelines, topic: str) -> dict[int, range]:
    return KafkaCluster(pipelines.workspace.cluster("fronting")).offsets(topic)
