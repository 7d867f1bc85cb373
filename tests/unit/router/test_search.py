from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
import stamina

from headrace.contract import ORIGIN
from headrace.errors import HeadraceError, Terminal, Transient
from headrace.kafka.bulk import origin_of
from router.plan.model import ToSearch
from router.tasks import search
from router.tasks.search import SearchProducer
from router.tasks.search_node import SearchNode
from tests.search_server import SearchServer

if TYPE_CHECKING:
    from collections.abc import Iterator

    from headrace.records.rows import Headers


@pytest.fixture
def node() -> Iterator[SearchServer]:
    # Tries are not waited for.
    with SearchServer() as running, stamina.set_testing(True, attempts=search.TRIES, cap=True):
        yield running


def to(node: SearchServer, key_column: str | None = None, batch_rows: int = 10) -> SearchProducer:
    return SearchProducer(ToSearch(node.url, "events", key_column, batch_rows))


def origin(offset: int) -> Headers:
    return [(ORIGIN, b"before/9/9/9"), (ORIGIN, f"raw/0/{offset}/1700".encode())]


def send(producer: SearchProducer, numbers: range, key: str | None = None) -> None:
    for number in numbers:
        value = json.dumps({"id": number}).encode()
        producer.produce("events", value, key, headers=origin(number))


def test_a_document_is_named_by_its_place_and_written_twice_it_is_there_once(
    node: SearchServer,
) -> None:
    for _ in range(2):
        producer = to(node)
        send(producer, range(25))
        assert producer.flush() == []
    assert node.documents["events"] == {f"raw-0-{number}": {"id": number} for number in range(25)}
    assert set(node.writes.values()) == {2}
    assert node.requests == [10, 10, 5] * 2


def test_a_column_can_name_the_document(node: SearchServer) -> None:
    producer = to(node, key_column="user")
    producer.produce_patiently("events", b'{"id": 1}', 'ü"\n', origin(1))
    producer.produce_patiently("events", b'{"id": 2}', b"k", origin(2))
    producer.produce_patiently("events", b'{"id": 3}', None, origin(3))
    assert producer.flush() == []
    assert list(node.documents["events"]) == ['ü"\n', "k", "raw-0-3"]


def test_an_origin_may_be_text(node: SearchServer) -> None:
    producer = to(node)
    producer.produce("events", b'{"id": 1}', None, headers=[(ORIGIN, "a/b-c/0/5/1700")])
    assert producer.flush() == []
    assert list(node.documents["events"]) == ["a/b-c-0-5"]


def test_a_document_that_does_not_fit_is_refused_by_itself(node: SearchServer) -> None:
    producer = to(node)
    send(producer, range(-1, 3))
    (refused,) = producer.flush()
    assert refused.topic == "events"
    assert origin_of(refused.headers) == (0, -1)
    assert refused.reason == "mapper_parsing_exception: failed to parse: it is negative"
    assert len(node.documents["events"]) == 3
    assert producer.flush() == []


def test_what_there_was_no_room_for_is_sent_again(node: SearchServer) -> None:
    node.busy_items = 3
    node.fail_next(429)
    producer = to(node)
    send(producer, range(8))
    assert producer.flush() == []
    assert node.requests == [8, 3]
    assert len(node.documents["events"]) == 8
    assert set(node.writes.values()) == {1}


def test_a_node_without_room_is_given_up_on(node: SearchServer) -> None:
    node.fail_next(429, times=100)
    producer = to(node)
    send(producer, range(3))
    with pytest.raises(Transient, match="index events rejected 3 documents"):
        producer.flush()


@pytest.mark.parametrize("status", [403, 404, 503])
def test_what_is_not_the_documents_fault_refuses_none(node: SearchServer, status: int) -> None:
    node.item_status = status
    producer = to(node)
    send(producer, range(3))
    with pytest.raises(Transient, match="cluster_block_exception: index is read-only"):
        producer.flush()


@pytest.mark.parametrize(
    ("status", "kind"), [(500, Transient), (503, Transient), (400, Terminal), (403, Terminal)]
)
def test_a_request_that_fails(node: SearchServer, status: int, kind: type[HeadraceError]) -> None:
    node.fail_next(status)
    producer = to(node)
    send(producer, range(3))
    with pytest.raises(kind, match=str(status)):
        producer.flush()


def test_a_request_that_is_too_large_is_halved(node: SearchServer) -> None:
    node.largest_bytes = 200
    producer = to(node)
    send(producer, range(8))
    large = json.dumps({"id": 8, "text": "x" * 300}).encode()
    producer.produce("events", large, None, headers=origin(8))
    (refused,) = producer.flush()
    assert origin_of(refused.headers) == (0, 8)
    assert len(node.documents["events"]) == 8


def test_a_request_is_bounded_in_bytes(node: SearchServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search, "LARGEST_REQUEST_BYTES", 100)
    producer = to(node, batch_rows=1000)
    send(producer, range(6))
    assert producer.flush() == []
    assert node.requests == [2, 2, 2]


def test_a_node_that_does_not_answer(node: SearchServer, monkeypatch: pytest.MonkeyPatch) -> None:
    node.fall_silent()
    producer = to(node)
    monkeypatch.setattr(producer, "_node", SearchNode(node.url, limit_s=0.05))
    send(producer, range(1))
    with pytest.raises(Transient, match=r"does not answer \(it took too long\)"):
        producer.flush()
    with pytest.raises(Transient, match="Connection refused"):
        SearchNode("http://127.0.0.1:1").post("/x/_bulk", b"")


def test_what_is_no_search_node(node: SearchServer) -> None:
    for body in (b"<html>", b"[]", b'{"errors": false, "items": []}'):
        node.fail_next(200, body=body)
        producer = to(node)
        send(producer, range(1))
        with pytest.raises(Terminal, match="does not answer bulk requests"):
            producer.flush()
    with pytest.raises(Terminal, match="URL is not valid"):
        SearchNode("ftp://user:hunter2@host")


def test_the_password_is_asked_for_and_never_shown(node: SearchServer) -> None:
    node.password = "hunter2"  # noqa: S105 - a test's
    good = to(node)
    send(good, range(2))
    assert good.flush() == []
    wrong = ToSearch(node.url.replace("hunter2", "hunter3"), "events", None, 10)
    bad = SearchProducer(replace(wrong))
    send(bad, range(1))
    with pytest.raises(Terminal, match="HTTP 401") as caught:
        bad.flush()
    assert "hunter" not in f"{caught.value}{wrong!r}{caught.value.__context__!r}"
