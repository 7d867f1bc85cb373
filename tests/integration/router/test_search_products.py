"""Newer search nodes than `make test` starts: the same documents, the same faults."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from headrace.contract import ORIGIN
from headrace.errors import Terminal
from router.plan.model import ToSearch
from router.tasks.search import SearchProducer
from tests.certificates import Authority
from tests.search_nodes import SearchNode, newer_java

if TYPE_CHECKING:
    from collections.abc import Iterator

    from headrace.kafka.bulk import RefusedRecord

pytestmark = pytest.mark.long
PASSWORD = "of-a-test"  # noqa: S105 - a test's own


@pytest.fixture(scope="module")
def java() -> str:
    """A Java that the newer nodes run on."""
    found = newer_java(21)
    if found is None:
        pytest.skip("OpenSearch 3 and Elasticsearch 9 need a JDK 21, and this machine has none")
    return found


@pytest.fixture(scope="module")
def opensearch(java: str) -> Iterator[SearchNode]:
    with SearchNode("opensearch-3", java=java) as running:
        yield running


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("authority"), "house")


@pytest.fixture(scope="module")
def elasticsearch(java: str, authority: Authority) -> Iterator[SearchNode]:
    with SearchNode("elasticsearch", java=java, authority=authority, password=PASSWORD) as running:
        yield running


def send(target: ToSearch, count: int, key: str | None = None) -> list[RefusedRecord]:
    producer = SearchProducer(target)
    for offset in range(count):
        value = json.dumps({"id": offset if offset % 10 else "x"}).encode()
        headers = [(ORIGIN, f"raw/0/{offset}/1700")]
        producer.produce("", value, key and f"{key}{offset % 7}", headers=headers)
    return producer.flush()


def round_of_documents(node: SearchNode, target: ToSearch) -> None:
    """Documents, some that do not fit, and the same again with ids of a column, newest first."""
    node.make(target.index, mappings={"properties": {"id": {"type": "integer"}}})
    for _ in range(2):
        assert len(send(target, 100)) == 10
    assert len(node.documents(target.index)) == 90
    node.make("keyed", mappings={"properties": {"id": {"type": "integer"}}})
    keyed = ToSearch(target.url, "keyed", "k", 10, target.api_key, target.ca, topic_id="one")
    for count in (70, 50):
        send(keyed, count, "k")
    ids = {one["id"] for one in node.documents("keyed").values()}
    assert ids == set(range(63, 70))


def faults_of_an_index(node: SearchNode, target: ToSearch) -> None:
    """None of them rejects a document, not even one alone in its request."""
    for index, body, said in (
        ("piped", {"settings": {"index.default_pipeline": "none_such"}}, "does not exist"),
        ("routed", {"mappings": {"_routing": {"required": True}}}, "requires a routing value"),
        ("blocked", {"settings": {"index.blocks.write": True}}, r"forbids writing .*HTTP 403"),
    ):
        node.make(index, **body)
        for count in (1, 3):
            faulty = ToSearch(target.url, index, None, 10, target.api_key, target.ca)
            with pytest.raises(Terminal, match=said):
                send(faulty, count)


def test_opensearch_3(opensearch: SearchNode) -> None:
    target = ToSearch(opensearch.url, "events", None, 25)
    round_of_documents(opensearch, target)
    faults_of_an_index(opensearch, target)


def test_elasticsearch_with_an_api_key(elasticsearch: SearchNode, authority: Authority) -> None:
    made = elasticsearch.ask("POST", "/_security/api_key", {"name": "headrace"})
    url = elasticsearch.url.replace(f"elastic:{PASSWORD}@", "")
    ca = authority.certificate.read_text()
    target = ToSearch(url, "events", None, 25, made["encoded"], ca)
    round_of_documents(elasticsearch, target)
    faults_of_an_index(elasticsearch, target)


def test_elasticsearch_lets_in_only_who_may(
    elasticsearch: SearchNode, authority: Authority
) -> None:
    ca = authority.certificate.read_text()
    url = elasticsearch.url
    with pytest.raises(Terminal, match="certificate cannot be verified"):
        send(ToSearch(url, "locked", None, 10), 1)
    with pytest.raises(Terminal, match="does not accept the login") as caught:
        send(ToSearch(url.replace(PASSWORD, "hunter2"), "locked", None, 10, ca=ca), 1)
    assert "hunter2" not in str(caught.value)
    nothing = {"name": "reader", "role_descriptors": {"none": {"index": []}}}
    made = elasticsearch.ask("POST", "/_security/api_key", nothing)
    url = url.replace(f"elastic:{PASSWORD}@", "")
    with pytest.raises(Terminal, match=r"forbids writing to index locked .*HTTP 403") as caught:
        send(ToSearch(url, "locked", None, 10, made["encoded"], ca), 3)
    assert made["api_key"] not in str(caught.value)
    assert send(ToSearch(elasticsearch.url, "locked", None, 10, ca=ca), 0) == []
