"""Back to an earlier batch of the same job, its state included; refused where that is not there."""

from __future__ import annotations

import json
import re
from collections import Counter
from typing import TYPE_CHECKING

import pytest
from confluent_kafka import TopicPartition
from confluent_kafka.admin import AdminClient

from headrace.application.table_sink import writer_of
from headrace.errors import Terminal
from headrace.iceberg.catalog import table_loader
from headrace.kafka.cluster import KafkaCluster
from headrace.landing.taking_out import take_out
from headrace.locks import AlreadyRunning, hold
from headrace.queries.checkpoint import query_id
from headrace.times import format_time_us
from tests.end_to_end.commands import run
from tests.integration.app.rewound import PARTITIONS, WRONG, Job
from tests.limits import LIMIT_S

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from pyspark.sql import SparkSession

    from tests.integration.pipelines import Pipelines

PROVIDER = "spark.sql.streaming.stateStore.providerClass"
STATES = "org.apache.spark.sql.execution.streaming.state"
CHANGELOG = "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled"


@pytest.fixture(
    params=[
        "HDFSBackedStateStoreProvider",
        pytest.param("RocksDBStateStoreProvider", marks=pytest.mark.long),
        pytest.param("changelog", marks=pytest.mark.long),
    ]
)
def state_store(spark: SparkSession, request: pytest.FixtureRequest) -> Iterator[None]:
    """Each way in which Spark keeps state."""
    provider = request.param.replace("changelog", "RocksDBStateStoreProvider")
    spark.conf.set(PROVIDER, f"{STATES}.{provider}")
    spark.conf.set(CHANGELOG, str(request.param == "changelog").lower())
    yield
    for one in (PROVIDER, CHANGELOG):
        spark.conf.unset(one)


@pytest.fixture
def job(
    spark: SparkSession, pipelines: Pipelines, unique: Callable[[str], str]
) -> Callable[..., Job]:
    return lambda **sink: Job(spark, pipelines, unique("rewound"), sink)


@pytest.mark.usefixtures("state_store")
def test_after_a_bug_the_table_is_as_if_it_had_never_been(job: Callable[..., Job]) -> None:
    counts = job()
    counts.send(range(4))
    counts.run()
    before = counts.batches()[0]
    counts.send(range(4, 8))
    counts.run(WRONG)
    counts.send(range(8, 10))
    counts.run(WRONG)
    assert counts.table() != counts.counted()
    went = counts.rewind(format_time_us(before.began_us))
    assert went is not None
    assert went.batch == before
    assert "is rolled back over" in went.results
    assert (went.kept / "checkpoint" / "state" / "0").is_dir()
    # What was sent since is read again, and what comes afterwards goes on from there.
    assert counts.run() == 6 * 6
    assert counts.table() == counts.counted()
    counts.send(range(10, 12))
    counts.run()
    assert counts.table() == counts.counted()


@pytest.mark.long
def test_twice_and_back_to_before_the_first_row(job: Callable[..., Job]) -> None:
    counts = job()
    counts.send(range(1))
    counts.run(WRONG)
    first = counts.batches()[-1]
    assert counts.table() == Counter()
    for minutes in (range(1, 3), range(3, 5)):
        counts.send(minutes)
        counts.run()
    middle = counts.batches()[0]
    counts.send(range(5, 7))
    counts.run(WRONG)
    before, written = files(counts.state), counts.table()
    assert counts.rewind(middle.number, only_say=True) is not None
    assert (files(counts.state), counts.table()) == (before, written)
    counts.rewind(middle.number)
    counts.run()
    # The first minute was counted by the wrong version all the time.
    assert sum((counts.table() - counts.counted()).values()) == 2
    went = counts.rewind(first.number)
    assert went is not None
    assert "to no rows" in went.results
    assert counts.table() == Counter()
    assert counts.rewind(first.number) is None
    # Done again, as after a kill, it changes nothing.
    load = table_loader(counts.pipelines.workspace, f"lake.tv.{counts.name}_out")
    once = load().metadata_location
    take_out(
        load, "it", writer_of(counts.name, query_id(counts.state / "checkpoint")), 1, leave=False
    )
    assert load().metadata_location == once
    counts.run()
    assert sum((counts.table() - counts.counted()).values()) == 2
    assert sum(counts.table().values()) == sum(counts.counted().values())


def test_what_is_not_there_any_more_is_told_and_nothing_changes(job: Callable[..., Job]) -> None:
    counts = job()
    for minutes in (range(2), range(2, 4), range(4, 6)):
        counts.send(minutes)
        counts.run()
    newest, *_, oldest = counts.batches()
    before = files(counts.state)
    refused(counts, newest.number + 7, "there is no committed batch")
    refused(counts, "2020-01-01", rf"no batch had begun by 2020-01-01\n.* {re.escape(str(oldest))}")
    with (
        hold(counts.state / "lock", "", ""),
        pytest.raises(AlreadyRunning, match=r"already runs \(pid"),
    ):
        counts.rewind(oldest.number)
    (counts.state / "checkpoint/state/0/1/2.delta").rename(counts.state / "2.delta")
    told = r"the state of operator 0 \(stateStoreSave\), partition 1 lacks the change to version 2"
    refused(counts, 1, told)
    assert counts.batches()[0].obstacle is not None
    (counts.state / "2.delta").rename(counts.state / "checkpoint/state/0/1/2.delta")
    (counts.state / "checkpoint/offsets/0").rename(counts.state / "0")
    refused(counts, 1, "batch 0, at whose end it begins, is gone from Spark's log")
    (counts.state / "0").rename(counts.state / "checkpoint/offsets/0")
    assert files(counts.state) == before
    delete_before(counts, 1, 9)
    refused(counts, oldest.number, rf"Kafka no longer has {counts.name}-1 @ 6 to 8")
    kafka = KafkaCluster(counts.pipelines.workspace.cluster("fronting"))
    kafka.delete_topic(counts.name)
    counts.pipelines.make_topic(counts.name, PARTITIONS)
    counts.send(range(6, 20))
    for again in (lambda: counts.rewind(newest.number), counts.run):
        with pytest.raises(Terminal, match=f"{counts.name} was deleted and re-created"):
            again()
    assert files(counts.state) == before


def test_rows_that_others_have_built_upon_stay_and_come_twice_if_that_is_allowed(
    job: Callable[..., Job],
) -> None:
    counts = job()
    for minutes in (range(3), range(3, 5)):
        counts.send(minutes)
        counts.run()
    table = f"lake.tv.{counts.name}_out"
    counts.spark.sql(f"INSERT INTO {table} VALUES (timestamp'2020-01-01', 'others', 1)")
    first = counts.batches()[-1].number
    written = counts.table()
    refused(counts, first, r"cannot be removed from .* came a commit of another job \(append\)")
    assert counts.table() == written
    went = counts.rewind(first, leave_duplicates=True)
    assert went is not None
    assert "are added there once more" in went.results
    counts.run()
    others = Counter({one: 1 for one in written if one[1] == "others"})
    own = written - others
    assert own
    assert counts.table() == own + own + others


def test_json_lines_of_later_batches_are_put_aside_by_the_command(job: Callable[..., Job]) -> None:
    counts = job(type="jsonl", path="out/rewound")
    for minutes in (range(3), range(3, 6)):
        counts.send(minutes)
        counts.run()
    root = counts.pipelines.workspace.root
    lines = read_lines(root / "out/rewound")
    command = ("headrace", "rewind", "-c", f"apps/{counts.name}.yaml")
    listed = run(*command, "-o", "json", cwd=root)
    newest, *_, oldest = json.loads(listed.stdout)["batches"]
    assert newest["sources"] == [{counts.name: {"0": 18, "1": 18}}]
    assert oldest["sources"] == [{counts.name: {"0": 9, "1": 9}}]
    shown = run(*command, "--list", cwd=root)
    assert f"      0  {oldest['began']}  {counts.name} 0:9 1:9" in shown.stdout
    done = run(*command, "--to", oldest["began"], cwd=root)
    assert done.returncode == 0, done.stderr
    (kept,) = counts.state.glob("before-rewind-*")
    assert str(kept) in done.stdout
    assert list((root / "out/rewound").glob("*.jsonl")) == []
    assert read_lines(kept / "results") == lines
    assert counts.run() == 6 * 3
    assert read_lines(root / "out/rewound") == lines
    unknown = run(*command, "--to", "99", cwd=root)
    assert unknown.returncode == 1
    assert "error: there is no committed batch 99" in unknown.stderr


@pytest.mark.long
def test_back_into_the_history_of_a_hybrid_source(job: Callable[..., Job]) -> None:
    counts = job()
    counts.send(range(6))
    counts.pipelines.land(counts.spark, counts.pipelines.table(counts.name, counts.name))
    live = {"type": "kafka", "cluster": "fronting", "topics": counts.name, "format": "json"}
    past = {"type": "iceberg", "catalog": "lake", "database": "tv", "table": counts.name}
    sources = {
        "events": {"type": "hybrid", "past": "past", "live": "live"},
        "live": {**live, "schema": f"schemas/{counts.name}.avsc"},
        "past": {**past, "max_misalignment_threshold": "1min"},
    }
    counts.run(sources=sources)
    counts.send(range(6, 9))
    counts.run(sources=sources)
    written = counts.table()
    assert written
    batch = next(one for one in reversed(counts.batches()) if one.obstacle is None)
    assert counts.rewind(batch.number) is not None
    assert sum(counts.table().values()) < sum(written.values())
    counts.run(sources=sources)
    assert counts.table() == written


def refused(job: Job, to: object, match: str) -> None:
    with pytest.raises(Terminal, match=match):
        job.rewind(to)


def files(state: Path) -> set[tuple[str, int]]:
    found = (path for path in state.rglob("*") if path.is_file() and path.name != "lock")
    return {(str(path.relative_to(state)), path.stat().st_mtime_ns) for path in found}


def delete_before(job: Job, partition: int, offset: int) -> None:
    admin = AdminClient(dict(job.pipelines.workspace.cluster("fronting").client_properties()))
    place = TopicPartition(job.name, partition, offset)
    admin.delete_records([place])[place].result(LIMIT_S)


def read_lines(folder: Path) -> Counter[str]:
    found = Counter[str]()
    for path in folder.glob("*.jsonl"):
        found.update(json.dumps(json.loads(line)) for line in path.read_text().splitlines())
    return found
