"""What a real search node has against documents, and whose fault it is."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from headrace.contract import ORIGIN
from headrace.errors import HeadraceError, Terminal, Transient
from headrace.kafka.bulk import origin_of
from router.plan.model import ToSearch
from router.tasks import search
from router.tasks.search import SearchProducer
from tests.search_nodes import SearchNode

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from headrace.kafka.bulk import RefusedRecord
    from headrace.records.rows import Headers

NUMBERS = {"properties": {"id": {"type": "integer"}}}


@pytest.fixture(autouse=True)
def _without_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search, "FIRST_WAIT_S", 0.001)


@pytest.fixture
def index(unique: Callable[[str], str]) -> str:
    return unique("events")


def origin(offset: int, partition: int = 0) -> Headers:
    place = f"raw/{partition}/{offset}/1700".encode()
    return [(ORIGIN, b"before/9/9/9"), (ORIGIN, place)]


def to(node: SearchNode, index: str, batch_rows: int = 10) -> SearchProducer:
    return SearchProducer(ToSearch(node.url, index, None, batch_rows))


def keyed(node: SearchNode, index: str, topic_id: str | None = "one") -> SearchProducer:
    return SearchProducer(ToSearch(node.url, index, "user", 10, topic_id=topic_id))


def send(
    node: SearchNode, index: str, ids: Iterable[object], rows: int = 10
) -> list[RefusedRecord]:
    """Send documents whose column `id` is as given, and whose offset is their number."""
    producer = to(node, index, rows)
    for offset, value in enumerate(ids):
        document = json.dumps({"id": value}).encode()
        producer.produce("", document, None, headers=origin(offset))
    return producer.flush()


def offsets(refused: Iterable[RefusedRecord]) -> list[int]:
    return [origin_of(one.headers)[1] for one in refused]


def test_documents_sent_twice_are_there_once(search_node: SearchNode, index: str) -> None:
    for _ in range(2):
        assert send(search_node, index, range(25)) == []
    found = search_node.documents(index)
    assert found == {f"raw-0-{number}": {"id": number} for number in range(25)}


def test_documents_that_do_not_fit_are_refused_alone(search_node: SearchNode, index: str) -> None:
    search_node.make(index, mappings=NUMBERS)
    refused = send(search_node, index, [1, "x", 2, "y"])
    assert offsets(refused) == [1, 3]
    assert refused[0].reason.startswith("mapper_parsing_exception: failed to parse field [id]")
    assert 'For input string: "x"' in refused[0].reason
    assert len(search_node.documents(index)) == 2


@pytest.mark.parametrize("ids", [["x"], ["x", "y", "z"]])
def test_documents_that_do_not_fit_are_refused_where_no_other_passes(
    search_node: SearchNode, index: str, ids: list[str]
) -> None:
    search_node.make(index, mappings=NUMBERS)
    assert offsets(send(search_node, index, ids)) == list(range(len(ids)))
    # The question whether the index takes any document leaves none behind.
    assert search_node.documents(index) == {}


def test_all_documents_with_an_unknown_column_are_refused(
    search_node: SearchNode, index: str
) -> None:
    """Every one for the same reason: and still the index takes others."""
    search_node.make(index, mappings={"dynamic": "strict"})
    assert offsets(send(search_node, index, range(3))) == [0, 1, 2]


def close(node: SearchNode, index: str) -> None:
    node.make(index)
    node.ask("POST", f"/{index}/_close")


def make_alias(node: SearchNode, index: str) -> None:
    actions = []
    for one in (f"{index}-1", f"{index}-2"):
        node.make(one)
        actions.append({"add": {"index": one, "alias": index}})
    assert node.ask("POST", "/_aliases", {"actions": actions})["acknowledged"]


def make_data_stream(node: SearchNode, index: str) -> None:
    template = {"index_patterns": [index], "data_stream": {}}
    assert node.ask("PUT", f"/_index_template/{index}", template)["acknowledged"]
    assert node.ask("PUT", f"/_data_stream/{index}")["acknowledged"]


def name_no_pipeline(node: SearchNode, index: str) -> None:
    node.make(index, settings={"index.default_pipeline": "nobody_made_it"})


def name_no_final_pipeline(node: SearchNode, index: str) -> None:
    node.make(index, settings={"index.final_pipeline": "nobody_made_it"})


def require_routing(node: SearchNode, index: str) -> None:
    node.make(index, mappings={"_routing": {"required": True}})


@pytest.mark.parametrize("count", [1, 3])
@pytest.mark.parametrize(
    ("spoil", "kind", "said"),
    [
        (close, Transient, "is closed.*\n  → open it"),
        (make_alias, Terminal, "is an alias without a write index.*\n  → set is_write_index"),
        (make_data_stream, Terminal, "is a data stream.*\n  → write to an index or an alias"),
        (name_no_pipeline, Terminal, "pipeline that does not exist.*\n  → create the pipeline"),
        (name_no_final_pipeline, Terminal, "pipeline that does not exist.*\n  → create the pipe"),
        (require_routing, Terminal, "requires a routing value.*\n  → write to an index"),
    ],
)
def test_a_fault_of_the_index_rejects_no_record(
    search_node: SearchNode,
    index: str,
    spoil: Callable[[SearchNode, str], None],
    kind: type[HeadraceError],
    said: str,
    count: int,
) -> None:
    spoil(search_node, index)
    with pytest.raises(kind, match=f"index {index} .*{said}"):
        send(search_node, index, range(count))


def test_an_index_that_the_cluster_does_not_create(search_node: SearchNode, index: str) -> None:
    setting = "action.auto_create_index"
    search_node.ask("PUT", "/_cluster/settings", {"transient": {setting: "false"}})
    try:
        with pytest.raises(Terminal, match=r"does not exist.*\n  → create it"):
            send(search_node, index, range(2))
    finally:
        search_node.ask("PUT", "/_cluster/settings", {"transient": {setting: None}})


def test_an_id_that_is_too_long_is_one_records_fault(search_node: SearchNode, index: str) -> None:
    producer = keyed(search_node, index)
    ids = ["a" * 512, "ü" * 257, "", "b"]
    for offset, name in enumerate(ids):
        producer.produce("", b"{}", name, headers=origin(offset))
    refused = producer.flush()
    assert {origin_of(one.headers)[1]: one.reason for one in refused} == {
        1: "the document's id has 514 bytes; an index takes 1 to 512",
        2: "the document's id has 0 bytes; an index takes 1 to 512",
    }
    assert search_node.documents(index).keys() == {"a" * 512, "b"}


def test_a_request_that_the_node_rejects_for_one_document(
    search_node: SearchNode, index: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As whatever else a node of tomorrow may say of the whole request."""
    monkeypatch.setattr("router.tasks.search_documents.LONGEST_ID_BYTES", 10_000)
    producer = keyed(search_node, index)
    for offset in range(9):
        name = "x" * 600 if offset == 4 else f"k{offset}"
        producer.produce("", b"{}", name, headers=origin(offset))
    (refused,) = producer.flush()
    assert origin_of(refused.headers) == (0, 4)
    assert "action_request_validation_exception: Validation Failed: 1: id [xxx" in refused.reason
    assert len(search_node.documents(index)) == 8


def make_pipeline(node: SearchNode, index: str, processor: Mapping[str, object]) -> None:
    answer = node.ask("PUT", f"/_ingest/pipeline/{index}", {"processors": [processor]})
    assert answer["acknowledged"], answer
    node.make(index, settings={"index.default_pipeline": index})


def test_a_pipeline_that_fails_for_a_document(search_node: SearchNode, index: str) -> None:
    fails = {"fail": {"message": "not today"}}
    foreach = {"foreach": {"field": "id", "ignore_missing": True, "processor": fails}}
    make_pipeline(search_node, index, foreach)
    refused = send(search_node, index, [[], [1], [], [2]])
    assert offsets(refused) == [1, 3]
    assert {one.reason for one in refused} == {"fail_processor_exception: not today"}
    assert len(search_node.documents(index)) == 2
    # Alone in its request as well.
    assert offsets(send(search_node, index, [[3]])) == [0]


def test_a_pipeline_that_fails_for_every_document(search_node: SearchNode, index: str) -> None:
    make_pipeline(search_node, index, {"fail": {"message": "not today"}})
    with pytest.raises(Terminal, match=r"fails on every document.*not today\n  → correct the pipe"):
        send(search_node, index, range(2))
    # One record proves nothing.
    assert offsets(send(search_node, index, range(1))) == [0]


def test_a_node_that_is_busy_is_waited_for_while_it_gets_on(
    unique: Callable[[str], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    # On a slow machine, too, the node gets on within eight tries.
    monkeypatch.setattr(search, "FIRST_WAIT_S", 0.05)
    settings = {
        "node.processors": 1,
        "thread_pool.write.size": 1,
        "thread_pool.write.queue_size": 1,
        "indexing_pressure.memory.limit": "64kb",
    }
    with SearchNode(settings=settings) as node:
        index = unique("busy")
        node.make(index, settings={"number_of_shards": 20, "number_of_replicas": 0})
        # More than its memory takes in one request, and more shards than its queue.
        documents = ["x" * 300] * 1000
        assert send(node, index, documents, rows=1000) == []
        assert len(node.documents(index)) == len(documents)
        rejected = node.ask("GET", "/_nodes/stats/indexing_pressure,thread_pool")
        assert count_of_rejections(rejected) > 0


def count_of_rejections(stats: dict[str, object]) -> int:
    text = json.dumps(stats)
    (node,) = json.loads(text)["nodes"].values()
    pressure = node["indexing_pressure"]["memory"]["total"]
    return int(node["thread_pool"]["write"]["rejected"] + pressure["coordinating_rejections"])


def test_a_node_that_accepts_nothing_is_given_up(search_node: SearchNode, index: str) -> None:
    search_node.make(index, settings={"index.blocks.read_only_allow_delete": True})
    with pytest.raises(Transient, match=r"accepted none of 3 documents in 8 tries.*flood-stage"):
        send(search_node, index, range(3))


def test_a_request_that_is_too_large_is_sent_in_parts(unique: Callable[[str], str]) -> None:
    with SearchNode(settings={"http.max_content_length": "64kb"}) as node:
        index = unique("large")
        documents = ["x" * 3000] * 50 + ["y" * 70_000] + ["z" * 3000] * 50
        (refused,) = send(node, index, documents, rows=1000)
        assert offsets([refused]) == [50]
        assert "too large" in refused.reason
        assert len(node.documents(index)) == 100


def test_what_is_forbidden_is_said_alike_of_a_document_and_of_a_request(
    search_node: SearchNode, index: str
) -> None:
    search_node.make(index, settings={"index.blocks.write": True})
    said = rf"forbids writing to index {index} \(HTTP 403\): cluster_block_exception.*\n  → remove"
    with pytest.raises(Terminal, match=said):
        send(search_node, index, range(2))
    block = "cluster.blocks.read_only"
    search_node.ask("PUT", "/_cluster/settings", {"transient": {block: True}})
    try:
        with pytest.raises(Terminal, match=said):
            send(search_node, index, range(2))
    finally:
        search_node.ask("PUT", "/_cluster/settings", {"transient": {block: None}})


def test_a_column_can_name_the_document(search_node: SearchNode, index: str) -> None:
    producer = keyed(search_node, index)
    producer.produce_patiently("", b'{"id": 1}', 'ü"\n', origin(1))
    producer.produce_patiently("", b'{"id": 2}', b"k", origin(2))
    producer.produce_patiently("", b'{"id": 3}', None, origin(3))
    assert producer.flush() == []
    assert search_node.documents(index).keys() == {'ü"\n', "k", "raw-0-3"}


def write(
    node: SearchNode, index: str, headers: Headers, value: int, topic_id: str = "one"
) -> None:
    producer = keyed(node, index, topic_id)
    producer.produce("", json.dumps({"id": value}).encode(), "k", headers=headers)
    assert producer.flush() == []


def test_an_old_write_never_covers_a_newer_one(search_node: SearchNode, index: str) -> None:
    for offset in (5, 7, 7, 5, 6):
        write(search_node, index, origin(offset), offset)
    assert search_node.documents(index) == {"k": {"id": 7}}
    write(search_node, index, origin(8), 8)
    assert search_node.documents(index) == {"k": {"id": 8}}


def test_the_last_write_counts_where_partitions_share_an_id(
    search_node: SearchNode, index: str
) -> None:
    """Their offsets have no order, nor have those of a topic that was re-created."""
    write(search_node, index, origin(1000), 1)
    write(search_node, index, origin(3, partition=1), 2)
    assert search_node.documents(index) == {"k": {"id": 2}}
    write(search_node, index, origin(0), 3, topic_id="another")
    assert search_node.documents(index) == {"k": {"id": 3}}


def test_what_is_no_search_node(search_node: SearchNode) -> None:
    producer = SearchProducer(ToSearch(f"{search_node.url}/elsewhere", "events", None, 10))
    producer.produce("", b"{}", None, headers=origin(0))
    with pytest.raises(Terminal, match=r"rejects a bulk request \(HTTP 400\).*\n  → correct"):
        producer.flush()
