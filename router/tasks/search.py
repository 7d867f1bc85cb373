"""Documents to a search index, by the bulk requests of Elasticsearch and OpenSearch.

A document's id is the record's key or its position in its topic: sent twice, it is there once.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from http import HTTPStatus
from typing import TYPE_CHECKING, Final
from urllib.parse import quote

from headrace.errors import Transient
from headrace.kafka.bulk import RefusedRecord
from headrace.retries import pause_s
from router.tasks.search_answers import (
    index_fault,
    is_missing_pipeline,
    parse_items,
    pipeline_fault,
    request_fault,
)
from router.tasks.search_documents import document_of, probe_lines
from router.tasks.search_node import SearchNode

if TYPE_CHECKING:
    from collections.abc import Sequence

    from headrace.errors import HeadraceError
    from headrace.records.rows import HeadersToSend
    from router.plan.model import ToSearch
    from router.tasks.search_answers import Item
    from router.tasks.search_documents import SearchDocument
    from router.tasks.search_node import Answer

LARGEST_REQUEST_BYTES: Final = 10 * 2**20
# So often in a row a node may have room for nothing.
TRIES: Final = 8
FIRST_WAIT_S: Final = 0.2
PROBE_ID: Final = "headrace"
# A document may be at fault, or its index: 500 is what ingest pipelines fail with.
_IN_QUESTION: Final = frozenset(
    {
        HTTPStatus.BAD_REQUEST,
        HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
        HTTPStatus.INTERNAL_SERVER_ERROR,
    }
)


@dataclass(frozen=True, slots=True)
class _Again:
    """Documents to be sent again: in smaller requests, or after a pause where a node said 429."""

    documents: Sequence[SearchDocument] = ()
    busy: str | None = None
    is_too_large: bool = False


class SearchProducer:
    """Sends documents to one index. What it was given since the last flush is one unit of work."""

    def __init__(self, target: ToSearch) -> None:
        self._target = target
        self._node = SearchNode(target.url, target.api_key, target.ca)
        self._path = f"/{quote(target.index, safe='')}/_bulk"
        self._waiting: list[SearchDocument] = []
        self._waiting_bytes = 0
        self._refused: list[RefusedRecord] = []

    def produce(
        self, _index: str, value: bytes | None, key: bytes | str | None, *, headers: HeadersToSend
    ) -> None:
        """Take a document; a full request is sent at once."""
        document = document_of(self._target, value, key, headers)
        if document.bad_id is not None:
            self._refuse(document, document.bad_id)
            return
        size = len(document.lines)
        if self._waiting and self._waiting_bytes + size > LARGEST_REQUEST_BYTES:
            self._send_waiting()
        self._waiting.append(document)
        self._waiting_bytes += size
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
        try:
            self._send(documents)
        except BaseException:
            self._node.close()
            raise

    def _send(self, documents: Sequence[SearchDocument]) -> None:
        """Send documents until each is taken or refused, in requests that the node has room for."""
        left, size, stalled = list(documents), len(documents), 0
        while left:
            sent = left[:size]
            again = self._try(sent)
            left = [*again.documents, *left[size:]]
            smaller = again.is_too_large or (again.busy and len(again.documents) == len(sent))
            size = max(len(sent) // 2, 1) if smaller else min(size * 2, len(documents))
            if again.busy is None:
                continue
            # Whoever gets on, however slowly, is not given up.
            stalled = stalled + 1 if len(again.documents) == len(sent) else 0
            if stalled == TRIES:
                raise Transient(
                    f"index {self._target.index} accepted none of {len(left)} documents in "
                    f"{TRIES} tries (HTTP 429): {again.busy}",
                    "give the search cluster more capacity, or lower batch_rows",
                )
            time.sleep(pause_s(stalled or 1, FIRST_WAIT_S))

    def _try(self, documents: Sequence[SearchDocument]) -> _Again:
        """Send one request; return what is to be sent again."""
        answer = self._post([one.lines for one in documents])
        match answer.status:
            case HTTPStatus.OK:
                return self._sorted_out(documents, parse_items(answer.body, len(documents)))
            case HTTPStatus.TOO_MANY_REQUESTS:
                return _Again(documents, busy="the node has no room for the request")
            case HTTPStatus.REQUEST_ENTITY_TOO_LARGE:
                return self._halved(documents, "the request is too large for the node (HTTP 413)")
            case HTTPStatus.BAD_REQUEST if self._takes_documents():
                return self._halved(documents, self._fault(answer).message)
        raise self._fault(answer)

    def _halved(self, documents: Sequence[SearchDocument], reason: str) -> _Again:
        """Have documents sent in smaller requests; the last one alone is refused."""
        if len(documents) > 1:
            return _Again(documents, is_too_large=True)
        self._refuse(documents[0], reason)
        return _Again()

    def _sorted_out(self, documents: Sequence[SearchDocument], items: Sequence[Item]) -> _Again:
        again: list[SearchDocument] = []
        in_question: list[tuple[SearchDocument, Item]] = []
        busy: str | None = None
        for document, item in zip(documents, items, strict=True):
            if item.is_taken:
                continue
            if item.status == HTTPStatus.TOO_MANY_REQUESTS:
                busy = item.reason
                again.append(document)
            elif item.is_conflict and document.version is not None:
                if not document.is_older_than(item.current_version):
                    again.append(document.without_version())
            elif item.status in _IN_QUESTION:
                in_question.append((document, item))
            else:
                raise index_fault(self._target.index, item)
        others_pass = any(item.is_taken or item.is_conflict for item in items)
        self._judge(in_question, others_pass=others_pass)
        return _Again(again, busy)

    def _judge(
        self, in_question: Sequence[tuple[SearchDocument, Item]], *, others_pass: bool
    ) -> None:
        """Refuse the documents that are at fault, or raise what is wrong with their index.

        The index is asked, document by document, whether it takes an empty one with that id.
        """
        asked = [
            (document, item)
            for document, item in in_question
            if not others_pass or item.status == HTTPStatus.INTERNAL_SERVER_ERROR
        ]
        if asked:
            *answers, with_pipelines = self._probe([document.id for document, _ in asked])
            for answer in answers:
                if not (answer.is_taken or answer.is_conflict):
                    raise index_fault(self._target.index, answer)
            same = not others_pass and {with_pipelines.reason} == {item.reason for _, item in asked}
            # A pipeline may fail on an empty document for good reasons: one record proves nothing.
            if same and (len(asked) > 1 or is_missing_pipeline(with_pipelines)):
                raise pipeline_fault(self._target.index, with_pipelines)
        for document, item in in_question:
            self._refuse(document, item.reason)

    def _probe(self, ids: Sequence[str]) -> list[Item]:
        """Return what becomes of empty documents, the last of them by way of the pipelines."""
        probes = [probe_lines(one, with_pipelines=False) for one in ids]
        answer = self._post([*probes, probe_lines(ids[0], with_pipelines=True)])
        if answer.status != HTTPStatus.OK:
            raise self._fault(answer)
        return parse_items(answer.body, len(ids) + 1)

    def _takes_documents(self) -> bool:
        """Whether the node takes any request: one that it rejects is then a document's fault."""
        answer = self._post([probe_lines(PROBE_ID, with_pipelines=False)])
        return answer.status == HTTPStatus.OK

    def _post(self, lines: Sequence[bytes]) -> Answer:
        return self._node.post(self._path, b"".join(lines))

    def _fault(self, answer: Answer) -> HeadraceError:
        return request_fault(self._target.index, answer.status, answer.body)

    def _refuse(self, document: SearchDocument, reason: str) -> None:
        key = document.key.encode() if isinstance(document.key, str) else document.key
        self._refused.append(
            RefusedRecord(self._target.index, reason, document.headers, document.value, key)
        )
