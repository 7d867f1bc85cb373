"""Commits of a bounded size, records that retention took, and records without a value."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from headrace import contract
from headrace.config.load import load_lake_table
from headrace.embedded.process import wait_until
from headrace.errors import Terminal
from headrace.kafka.cluster import KafkaCluster
from headrace.kafka.sender import KafkaRecord
from headrace.kafka.source_topic import OffsetsGone, TopicRecreated
from headrace.landing.commit_state import SUMMARY, CommitState
from lake_writer.audit import audit
from lake_writer.landed import Landed
from tests.integration.lake_writer.landing_table import places
from tests.integration.lake_writer.live_writer import live
from tests.integration.pipelines import Pipelines, event
from tests.integration.router.live_router import delete_before
from tests.limits import LIMIT_S

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pyiceberg.table import Table
    from pyspark.sql import SparkSession

    from lake_writer.findings import Findings


def audited(pipelines: Pipelines, path: Path) -> Findings:
    return audit(pipelines.workspace, load_lake_table(path, pipelines.workspace))


def test_a_commit_has_no_more_bytes_than_allowed(
    spark: SparkSession, pipelines: Pipelines, name: str, load: Callable[[], Table]
) -> None:
    values = [event(number, "x" * 1_000) for number in range(400)]
    pipelines.send(name, [KafkaRecord(value, b"k") for value in values])
    path = pipelines.table(name, name, batch={"max_bytes": "100kB"})
    size = len(values[-1])
    commits = -(-400 * size // 100_000)
    assert pipelines.land(spark, path) == Landed(commits=commits, rows=400)
    states = [
        CommitState.from_json(snapshot.summary.additional_properties[SUMMARY])
        for snapshot in load().snapshots()
        if snapshot.summary is not None
    ]
    spans = [state.spans[0] for state in states]
    assert [one.next for one in spans[:-1]] == [one.start for one in spans[1:]]
    sizes = [sum(map(len, values[one.start : one.next])) for one in spans]
    assert max(sizes) <= 100_000
    assert min(sizes) > 0.9 * max(sizes)
    assert audited(pipelines, path).ok


def test_what_retention_took_stops_the_writer_or_is_kept_as_lost(
    spark: SparkSession, pipelines: Pipelines, name: str, load: Callable[[], Table]
) -> None:
    pipelines.send(name, map(event, range(10)))
    path = pipelines.table(name, name)
    pipelines.land(spark, path)
    pipelines.send(name, map(event, range(10, 20)))
    delete_before(pipelines, name, 15)
    said = rf"no longer has the records that had to be read next: {name}-0 @ 10 to 14 \(5 records\)"
    with pytest.raises(OffsetsGone, match=said):
        pipelines.land(spark, path)
    source = {"type": "kafka", "cluster": "fronting", "topic": name, "format": "json"}
    source |= {"schema": f"schemas/{name}.avsc", "on_data_loss": "skip"}
    path = pipelines.table(name, name, source=source)
    assert pipelines.land(spark, path) == Landed(commits=1, rows=5)
    # All that there was is gone: the place moves on all the same, and the table says so.
    pipelines.send(name, map(event, range(20, 25)))
    delete_before(pipelines, name, 25)
    assert pipelines.land(spark, path) == Landed(commits=1)
    assert [offset for _, offset in places(load())] == [*range(10), *range(15, 20)]
    found = audited(pipelines, path)
    assert found.ok
    assert found.partitions[0].lost == (range(10, 15), range(20, 25))
    assert f"lost: {name}-0 @ 10-14, accepted by on_data_loss: skip" in found.to_text()
    assert found.to_json()["partitions"][0]["lost"] == ["10-14", "20-24"]


OPTIONAL = {
    "type": "record",
    "name": "tv.Optional",
    "fields": [{"name": "id", "type": ["null", "long"], "default": None}],
}


@pytest.mark.parametrize(
    ("policy", "landed", "kept"),
    [
        (None, Landed(commits=1, rows=2, quarantined=1), [b"the record has no value"]),
        (
            "quarantine",
            Landed(commits=1, rows=2, quarantined=1),
            [b"it is a tombstone: the record has no value"],
        ),
        ("drop", Landed(commits=1, rows=2, dropped=1), []),
        ("keep", Landed(commits=1, rows=3), []),
    ],
)
def test_tombstones(
    spark: SparkSession,
    pipelines: Pipelines,
    name: str,
    load: Callable[[], Table],
    policy: str | None,
    landed: Landed,
    kept: list[bytes],
) -> None:
    pipelines.send(
        name,
        [KafkaRecord(b'{"id":1}', b"k"), KafkaRecord(None, b"k"), KafkaRecord(b'{"id":3}', b"k")],
    )
    hygiene = {} if policy is None else {"tombstones": policy}
    path = pipelines.table(name, name, OPTIONAL, hygiene=hygiene)
    assert pipelines.land(spark, path) == landed
    found = sorted(load().scan().to_arrow()["id"].to_pylist(), key=repr)
    assert found == ([1, 3, None] if policy == "keep" else [1, 3])
    has_quarantine = policy in {None, "quarantine"}
    said = pipelines.seen(f"{name}.quarantine", "fronting") if has_quarantine else []
    assert [one.header(contract.QUARANTINE_EXCEPTION_MESSAGE) for one in said] == kept
    assert audited(pipelines, path).ok


@pytest.mark.parametrize("records", [5, 10, 20])
def test_a_topic_that_is_made_anew_under_a_running_writer(
    spark: SparkSession, pipelines: Pipelines, name: str, load: Callable[[], Table], records: int
) -> None:
    pipelines.send(name, map(event, range(10)))
    path = pipelines.table(name, name, batch={"max_interval": "200ms"})
    kafka = KafkaCluster(pipelines.workspace.cluster("fronting"))

    def run() -> None:
        with live(pipelines, spark, path) as running:
            assert wait_until(lambda: len(places(load())) == 10, LIMIT_S)
            kafka.delete_topic(name)
            assert wait_until(lambda: name not in kafka.topics(), LIMIT_S)
            pipelines.make_topic(name)
            # By its offsets alone nobody would know that it is another one, but where it is shorter.
            pipelines.send(name, map(event, range(records)))
            assert wait_until(running.ended, LIMIT_S)

    anew = f"topic {name} was deleted and re-created"
    # Or it looks just while there is no such topic.
    with pytest.raises(Terminal, match=f"{anew}|no topic {name}"):
        run()
    with pytest.raises(TopicRecreated, match=anew):
        pipelines.land(spark, path)
    assert len(places(load())) == 10
