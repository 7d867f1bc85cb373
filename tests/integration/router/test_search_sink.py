"""A stream into a search index: its documents, and those that the index does not take."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from headrace import contract
from router.ledger.entries import Counts
from tests.integration.pipelines import EVENT_SCHEMA, Pipelines, event
from tests.search_server import SearchServer
from tests.unit.router.workspaces import invoke

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import SparkSession

    from headrace.config.workspace.workspace import Workspace


def test_a_stream_lands_in_an_index(
    spark: SparkSession, workspace: Workspace, unique: Callable[[str], str]
) -> None:
    pipelines, topic = Pipelines(workspace), unique("searched")
    pipelines.make_topic(topic, partitions=2)
    pipelines.send(topic, [event(number) for number in range(-2, 30)])
    pipelines.write("schemas/event.avsc", EVENT_SCHEMA)
    source = {"type": "kafka", "cluster": "fronting", "topic": topic, "format": "json"}
    with SearchServer(password="hunter2", busy_items=2) as node:  # noqa: S106 - the test's own
        sink = {"type": "search", "url": node.url, "index": "events", "batch_rows": 7}
        stream = {
            "kind": "stream",
            "name": topic,
            "source": source | {"schema": "schemas/event.avsc"},
            "outputs": [{"name": "found", "filter": "id < 20", "sink": sink}],
        }
        path = pipelines.write(f"streams/{topic}.yaml", stream)
        counts = pipelines.route(spark, path)
    assert counts["found"] == Counts(32, written=20, filtered=10, quarantined=2)
    documents = node.documents["events"]
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
