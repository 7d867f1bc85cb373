"""A stream into a search index: its documents, and those that the index does not take."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

import pytest

from headrace import contract
from headrace.errors import Terminal
from headrace.kafka.ranges import RangeReader
from router.ledger.entries import Counts
from tests.integration.pipelines import EVENT_SCHEMA, Pipelines, event
from tests.unit.router.workspaces import invoke

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pyspark.sql import SparkSession

    from headrace.config.workspace.workspace import Workspace
    from tests.search_nodes import SearchNode

POSITIVE = {"properties": {"id": {"type": "unsigned_long"}}}


def stream_to(pipelines: Pipelines, topic: str, node: SearchNode, **sink: object) -> Path:
    """Write a stream of events into the index that is named as its topic."""
    pipelines.write("schemas/event.avsc", EVENT_SCHEMA)
    source = {"type": "kafka", "cluster": "fronting", "topic": topic, "format": "json"}
    to = {"type": "search", "url": node.url, "index": topic, **sink}
    stream = {
        "kind": "stream",
        "name": topic,
        "source": source | {"schema": "schemas/event.avsc"},
        "outputs": [{"name": "found", "filter": "id < 20", "sink": to}],
    }
    return pipelines.write(f"streams/{topic}.yaml", stream)


def test_a_stream_lands_in_an_index(
    spark: SparkSession,
    workspace: Workspace,
    search_node: SearchNode,
    unique: Callable[[str], str],
) -> None:
    pipelines, topic = Pipelines(workspace), unique("searched")
    search_node.make(topic, mappings=POSITIVE)
    pipelines.make_topic(topic, partitions=2)
    pipelines.send(topic, [event(number) for number in range(-2, 30)])
    path = stream_to(pipelines, topic, search_node, batch_rows=7)
    counts = pipelines.route(spark, path)
    assert counts["found"] == Counts(32, written=20, filtered=10, quarantined=2)
    documents = search_node.documents(topic)
    assert sorted(one["id"] for one in documents.values()) == list(range(20))
    places = {f"{topic}-{one.partition}-{one.offset}" for one in pipelines.seen(topic, "fronting")}
    assert documents.keys() < places
    kept = pipelines.seen(f"{topic}.quarantine", "fronting")
    assert {one.value for one in kept} == {event(-1), event(-2)}
    assert {one.header(contract.QUARANTINE_STAGE) for one in kept} == {b"TASK_PUT"}
    assert {one.header(contract.QUARANTINE_CONNECTOR) for one in kept} == {
        f"{topic}.found".encode()
    }
    audit = invoke("audit", path, "-o", "json", workspace=workspace.root)
    assert audit.return_value == 0
    found, quarantine = json.loads(audit.stdout)["outputs"]
    assert sum(one["written"] for one in found["partitions"]) == 20
    # Refused by one output: its ledger tells of it, and not that of the quarantine.
    assert sum(one["quarantined"] for one in found["partitions"]) == 2
    assert sum(one["quarantined"] for one in quarantine["partitions"]) == 0


def test_refused_records_are_read_again_together(
    spark: SparkSession,
    workspace: Workspace,
    search_node: SearchNode,
    unique: Callable[[str], str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """And never one by one: each read of its own takes as long as thousands of records."""
    pipelines, topic = Pipelines(workspace), unique("searched")
    search_node.make(topic, mappings=POSITIVE)
    pipelines.make_topic(topic, partitions=2)
    bad = [event(-number) for number in range(1, 2001)]
    pipelines.send(topic, [*bad[:1000], event(1), *bad[1000:], event(2)])
    monkeypatch.setattr(RangeReader, "one", None)
    counts = pipelines.route(spark, stream_to(pipelines, topic, search_node))
    assert counts["found"] == Counts(2002, written=2, quarantined=2000)
    kept = pipelines.seen(f"{topic}.quarantine", "fronting")
    assert sorted(one.value or b"" for one in kept) == sorted(bad)
    assert {one["id"] for one in search_node.documents(topic).values()} == {1, 2}


def test_a_fault_of_the_index_leaves_the_topic_where_it_is(
    spark: SparkSession,
    workspace: Workspace,
    search_node: SearchNode,
    unique: Callable[[str], str],
) -> None:
    pipelines, topic = Pipelines(workspace), unique("searched")
    search_node.make(topic, settings={"index.default_pipeline": "nobody_made_it"})
    pipelines.make_topic(topic)
    pipelines.send(topic, [event(number) for number in range(5)])
    path = stream_to(pipelines, topic, search_node)
    with pytest.raises(Terminal, match="names an ingest pipeline that does not exist"):
        pipelines.route(spark, path)
    assert pipelines.seen(f"{topic}.quarantine", "fronting") == []
    search_node.ask("PUT", f"/{topic}/_settings", {"index.default_pipeline": "_none"})
    assert pipelines.route(spark, path)["found"] == Counts(5, written=5)
    assert len(search_node.documents(topic)) == 5


def test_a_record_of_the_quarantine_does_not_cover_a_newer_one(
    spark: SparkSession,
    workspace: Workspace,
    search_node: SearchNode,
    unique: Callable[[str], str],
) -> None:
    pipelines, topic = Pipelines(workspace), unique("searched")
    search_node.make(topic, mappings={"properties": {"kind": {"type": "integer"}}})
    pipelines.make_topic(topic)
    pipelines.send(topic, [event(7, "oops"), event(7, "8")])
    path = stream_to(pipelines, topic, search_node, id="id")
    assert pipelines.route(spark, path)["found"] == Counts(2, written=1, quarantined=1)
    # The index as it should have been, and what was written since.
    search_node.ask("DELETE", f"/{topic}")
    search_node.make(topic, mappings={"properties": {"kind": {"type": "keyword"}}})
    pipelines.send(topic, [event(7, "9")])
    pipelines.route(spark, path)
    replay = invoke("quarantine replay", path, workspace=workspace.root)
    assert re.search(r"replayed +1|1 +replayed", replay.output), replay.output
    assert search_node.documents(topic)["7"]["kind"] == "9"
