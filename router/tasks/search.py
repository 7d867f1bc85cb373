"""Documents to a search index, by the bulk requests of Elasticsearch and OpenSearch.

A document's id is the record's key or its position in its topic: sent twice, it is there once.
"""

from __future__ import annotations

import http.client
import json
from dataclasses import dataclass
from http import HTTPStatus
from typing import TYPE_CHECKING, Final
from urllib.parse import quote

import msgspec

from headrace.contract import ORIGIN
from headrace.errors import Terminal, Transient
from headrace.kafka.bulk import RefusedRecord
from headrace.retries import retry
from router.tasks.search_node import SearchNode

if TYPE_CHECKING:
    from collections.abc import Sequence

    from headrace.records.rows import HeadersToSend
    from router.plan.model import ToSearch
    from router.tasks.search_node import Answer

LARGEST_REQUEST_BYTES: Final = 10 * 2**20
TRIES: Final = 8
FIRST_WAIT_S: Final = 0.2
# The node refuses the document itself: the next try would end alike. All else that it says no to
# (a full disk, an index that is closed) is not the record's fault.
_REFUSED: Final = frozenset({HTTPStatus.BAD_REQUEST, HTTPStatus.REQUEST_ENTITY_TOO_LARGE})


@dataclass(frozen=True, slots=True)
class SearchDocument:
    """One document as it is sent, and the record that it is of."""

    lines: bytes
    value: bytes | None
    key: bytes | str | None
    headers: HeadersToSend


class _Cause(msgspec.Struct):
    reason: str | None = None


class _Error(msgspec.Struct):
    type: str = "error"
    reason: str | None = None
    caused_by: _Cause | None = None


class _Result(msgspec.Struct):
    status: int
    error: _Error | None = None


class _Item(msgspec.Struct):
    index: _Result


class _Bulk(msgspec.Struct):
    errors: bool
    items: list[_Item]


class _Busy(Exception):
    """A node that cannot accept more documents at the moment."""


class SearchProducer:
    """Sends documents to one index. What it was given since the last flush is one unit of work."""

    def __init__(self, target: ToSearch) -> None:
        self._target = target
        self._node = SearchNode(target.url)
        self._path = f"/{quote(target.index, safe='')}/_bulk"
        self._waiting: list[SearchDocument] = []
        self._waiting_bytes = 0
        self._refused: list[RefusedRecord] = []

    def produce(
        self, _index: str, value: bytes | None, key: bytes | str | None, *, headers: HeadersToSend
    ) -> None:
        """Take a document; a full request is sent at once."""
        action = json.dumps({"index": {"_id": document_id(self._target, key, headers)}}).encode()
        lines = b"%s\n%s\n" % (action, value or b"{}")
        if self._waiting and self._waiting_bytes + len(lines) > LARGEST_REQUEST_BYTES:
            self._send_waiting()
        self._waiting.append(SearchDocument(lines, value, key, headers))
        self._waiting_bytes += len(lines)
        if len(self._waiting) >= self._target.batch_rows:
            self._send_waiting()

    def produce_patiently(
        self, index: str, value: bytes | None, key: bytes | str | None, headers: HeadersToSend
    ) -> None:
        """Take a document; there is no queue that could be full."""
        self.produce(index, value, key, headers=headers)

    def poll(self, _timeout_s: float) -> int:
        """Nothing is heard of later: each request was answered before the next."""
        return 0

    def raise_failure(self) -> None:
        """Nothing fails in the background: `produce` and `flush` raise."""

    def flush(self) -> list[RefusedRecord]:
        """Send what is left; return the documents that the index will not take."""
        self._send_waiting()
        self._node.close()
        refused, self._refused = self._refused, []
        return refused

    def _send_waiting(self) -> None:
        documents, self._waiting, self._waiting_bytes = self._waiting, [], 0
        if not documents:
            return
        try:
            self._send(documents)
        except BaseException:
            self._node.close()
            raise

    def _send(self, documents: Sequence[SearchDocument]) -> None:
        """Send documents until each is taken or refused; those it had no room for, again."""
        left = list(documents)

        def try_once() -> None:
            left[:] = self._try(left)
            if left:
                raise _Busy

        try:
            retry(try_once, _Busy, TRIES, FIRST_WAIT_S)
        except _Busy:
            raise Transient(
                f"index {self._target.index} rejected {len(left)} documents {TRIES} times (HTTP "
                "429)",
                "give the search cluster more capacity, or lower batch_rows",
            ) from None

    def _try(self, documents: list[SearchDocument]) -> list[SearchDocument]:
        """Send one request; return what is to be sent again."""
        answer = self._node.post(self._path, b"".join(one.lines for one in documents))
        match answer.status:
            case HTTPStatus.OK:
                return self._sorted_out(documents, _bulk(answer, len(documents)))
            case HTTPStatus.TOO_MANY_REQUESTS:
                return documents
            case HTTPStatus.REQUEST_ENTITY_TOO_LARGE if len(documents) > 1:
                half = len(documents) // 2
                self._send(documents[:half])
                self._send(documents[half:])
                return []
            case HTTPStatus.REQUEST_ENTITY_TOO_LARGE:
                self._refuse(documents[0], "the request is too large for the node (HTTP 413)")
                return []
        raise self._node.refusal(answer)

    def _sorted_out(self, documents: list[SearchDocument], bulk: _Bulk) -> list[SearchDocument]:
        if not bulk.errors:
            return []
        again: list[SearchDocument] = []
        for document, item in zip(documents, bulk.items, strict=True):
            status, reason = item.index.status, _reason(item.index)
            if status < HTTPStatus.BAD_REQUEST:
                continue
            if status == HTTPStatus.TOO_MANY_REQUESTS:
                again.append(document)
            elif status in _REFUSED:
                self._refuse(document, reason)
            else:
                raise Transient(f"index {self._target.index} rejects all documents: {reason}")
        return again

    def _refuse(self, document: SearchDocument, reason: str) -> None:
        key = document.key.encode() if isinstance(document.key, str) else document.key
        self._refused.append(
            RefusedRecord(self._target.index, reason, document.headers, document.value, key)
        )


def document_id(target: ToSearch, key: bytes | str | None, headers: HeadersToSend) -> str:
    """Return a document's id: its column's value, else where its record was read."""
    if target.key_column is not None and key is not None:
        return key if isinstance(key, str) else key.decode(errors="backslashreplace")
    for name, value in reversed(headers):
        if name == ORIGIN and value is not None:
            text = value if isinstance(value, str) else value.decode()
            return "-".join(text.rsplit("/", 3)[:3])
    raise Terminal(f"a document for index {target.index} has no topic, partition and offset")


def _bulk(answer: Answer, count: int) -> _Bulk:
    try:
        bulk = msgspec.json.decode(answer.body, type=_Bulk)
    except msgspec.DecodeError:
        bulk = None
    if bulk is None or len(bulk.items) != count:
        raise Terminal(
            "the server at the search sink's URL does not answer bulk requests",
            "correct the sink's url; its path is the part before the index",
        )
    return bulk


def _reason(result: _Result) -> str:
    error = result.error
    if error is None:
        return http.client.responses.get(result.status, f"HTTP {result.status}")
    cause = error.caused_by.reason if error.caused_by else None
    return ": ".join(part for part in (error.type, error.reason, cause) if part)
