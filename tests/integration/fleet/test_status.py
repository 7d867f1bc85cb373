"""`headrace status` by a real broker and a real catalog, beside a cluster that is away."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from fleet.lines import StatusLine, any_failed, as_text
from fleet.run_state import JobProblem, folder_of, lock_in, write_problems
from fleet.status import statuses
from headrace.config.load import load_stream, load_workspace
from headrace.config.stream.effective import effective
from headrace.kafka.cluster import KafkaCluster
from headrace.locks import hold
from headrace.signals import Drain
from router.ledger.topic import LedgerTopic, ledger_topic
from router.plan.planner import Planner
from tests.integration.pipelines import Pipelines, event

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pyspark.sql import SparkSession

Key = tuple[str, str, str | None]
APP = """\
kind: app
name: counted
sources:
  live: {{type: kafka, cluster: fronting, topics: {topic}, format: json, schema: schemas/event.avsc}}
transform: {{sql: "SELECT id FROM live"}}
sink: {{type: jsonl, path: out}}
"""


@pytest.fixture
def own(make_workspace: Callable[[], Path]) -> Pipelines:
    """A workspace of the test's own: a report is about all of it."""
    return Pipelines(load_workspace(make_workspace()))


def report(own: Pipelines) -> dict[Key, StatusLine]:
    return {(one.kind, one.name, one.part): one for one in statuses(own.workspace)}


def test_what_ran_has_its_lag_and_what_did_not_is_new(
    own: Pipelines, spark: SparkSession, unique: Callable[[str], str]
) -> None:
    topic, table = unique("status"), unique("status_table")
    own.make_topic(topic, 2)
    stream = own.stream(topic, [{"name": "all"}, {"name": "far", "sink": {"cluster": "nowhere"}}])
    land = own.table(table, topic)
    (own.workspace.root / "app.yaml").write_text(APP.format(topic=topic))
    before = report(own)
    assert before["lake_table", table, None].state == "new"
    assert before["app", "counted", None].state == "new"
    assert before["stream", topic, "all"].state == "new"

    own.send(topic, [event(number) for number in range(30)])
    only_all = own.router(stream, ["all"])
    only_all.prepare()
    only_all.run(spark, Drain(), once=True)
    own.land(spark, land)
    own.send(topic, [event(number) for number in range(7)])
    found = report(own)
    routed, landed = found["stream", topic, "all"], found["lake_table", table, None]
    assert (routed.state, routed.lag) == ("stopped", 7)
    assert (landed.state, landed.lag) == ("stopped", 7)
    for one in (routed, landed):
        assert one.last_batch is not None
        assert one.complete_up_to is not None
    far = found["stream", topic, "far"]
    assert far.state == "failed"
    assert "no Kafka broker of cluster nowhere answers" in (far.problem or "")
    assert found["stream", topic, "quarantine"].lag == 7
    assert any_failed(found.values())
    assert f"{topic}/all" in as_text(list(found.values()))
    json.dumps([one.as_dict() for one in found.values()])


def test_a_router_that_is_at_work_is_running_wherever_it_is(
    own: Pipelines, spark: SparkSession, unique: Callable[[str], str]
) -> None:
    topic = unique("status_running")
    own.make_topic(topic)
    own.send(topic, [event(1)])
    path = own.stream(topic, [{"name": "all"}])
    own.route(spark, path)
    assert report(own)["stream", topic, "all"].state == "stopped"
    # As another host's router would claim it.
    kafka = KafkaCluster(own.workspace.cluster("consumer"))
    ledger = LedgerTopic(kafka, topic)
    source = KafkaCluster(own.workspace.cluster("fronting"))
    stream = effective(load_stream(path, own.workspace), own.workspace, None)
    member = Planner(own.workspace, stream).plan().held_as("all")
    ledger.claim([member], source.topic_id(topic), "take_over", None)
    try:
        assert report(own)["stream", topic, "all"].state == "running"
    finally:
        ledger.close()
    assert report(own)["stream", topic, "all"].state == "stopped"


def test_a_broken_file_and_a_topic_made_again_have_failed(
    own: Pipelines, spark: SparkSession, unique: Callable[[str], str]
) -> None:
    topic = unique("status_again")
    own.make_topic(topic)
    own.send(topic, [event(1)])
    path = own.stream(topic, [{"name": "all"}])
    own.route(spark, path)
    source = KafkaCluster(own.workspace.cluster("fronting"))
    source.delete_topic(topic)
    gone = report(own)["stream", topic, "all"]
    assert f"cluster fronting has no topic {topic}" in (gone.problem or "")
    own.make_topic(topic)
    again = report(own)["stream", topic, "all"]
    assert "its position is in another topic" in (again.problem or "")
    path.write_text("kind: stream\nname: spoilt\n")
    broken = report(own)["stream", "spoilt", None]
    assert broken.state == "failed"
    assert ".yaml:1:1:" in (broken.problem or "")
    assert ledger_topic(topic) in KafkaCluster(own.workspace.cluster("consumer")).topics()


def test_what_up_says_of_its_jobs_is_told_while_it_runs(
    own: Pipelines, unique: Callable[[str], str]
) -> None:
    topic, table = unique("status_up"), unique("status_up_table")
    own.make_topic(topic)
    own.table(table, topic)
    problem = JobProblem("lake_table", table, None, "its schema is broken")
    with hold(lock_in(folder_of(own.workspace)), "up", ""):
        write_problems(folder_of(own.workspace), [problem])
        assert report(own)["lake_table", table, None].problem == "its schema is broken"
    assert report(own)["lake_table", table, None].problem is None
