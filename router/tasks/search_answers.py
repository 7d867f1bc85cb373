"""What a search node's answers mean: whose fault it is, and what to do about it."""

from __future__ import annotations

import http.client
import re
from http import HTTPStatus
from typing import TYPE_CHECKING, Final

import msgspec

from headrace.errors import Terminal, Transient

if TYPE_CHECKING:
    from headrace.errors import HeadraceError

# Of nodes' own words so much is repeated.
MOST_CHARACTERS: Final = 500
# What a node says of an index that takes no document at all. Most of it has one type, so the
# words decide: they are the same in Elasticsearch and OpenSearch.
_INDEX_FAULTS: Final = (
    (
        "index_closed_exception",
        Transient,
        "is closed",
        "open it, or write to another index",
    ),
    (
        "index_not_found_exception",
        Terminal,
        "does not exist, and the cluster does not create it",
        "create it, or correct the sink's index",
    ),
    (
        "no write index",
        Terminal,
        "is an alias without a write index",
        "set is_write_index for one of the alias's indices",
    ),
    (
        "data streams",
        Terminal,
        "is a data stream, which takes no documents with an id",
        "write to an index or an alias",
    ),
    (
        "routing_missing_exception",
        Terminal,
        "requires a routing value, which headrace does not send",
        "write to an index whose mapping does not require _routing",
    ),
    (
        "pipeline with id",
        Terminal,
        "names an ingest pipeline that does not exist",
        "create the pipeline, or correct index.default_pipeline and index.final_pipeline",
    ),
)
_CURRENT_VERSION: Final = re.compile(r"current version \[(\d+)\]")


class _Cause(msgspec.Struct):
    reason: str | None = None


class _Error(msgspec.Struct):
    type: str = "error"
    reason: str | None = None
    caused_by: _Cause | None = None


class Item(msgspec.Struct):
    """What became of one document of a request."""

    status: int
    error: _Error | None = None

    @property
    def is_taken(self) -> bool:
        """Whether the index has the document."""
        return self.status < HTTPStatus.BAD_REQUEST

    @property
    def is_conflict(self) -> bool:
        """Whether the index has another version of the document than the request expects."""
        return self.status == HTTPStatus.CONFLICT

    @property
    def reason(self) -> str:
        """The node's words."""
        error = self.error
        if error is None:
            return http.client.responses.get(self.status, f"HTTP {self.status}")
        cause = error.caused_by.reason if error.caused_by else None
        said = ": ".join(part for part in (error.type, error.reason, cause) if part)
        return said[:MOST_CHARACTERS]

    @property
    def current_version(self) -> int | None:
        """The version that a conflict is with, None where the node does not say it."""
        found = _CURRENT_VERSION.search(self.reason)
        return int(found[1]) if found else None


class _Action(msgspec.Struct):
    index: Item


class _Bulk(msgspec.Struct):
    items: list[_Action]


def parse_items(body: bytes, count: int) -> list[Item]:
    """Return what became of each document of a request."""
    try:
        items = [one.index for one in msgspec.json.decode(body, type=_Bulk).items]
    except msgspec.DecodeError:
        items = []
    if len(items) != count:
        raise Terminal(
            "the server at the search sink's URL does not answer bulk requests",
            "correct the sink's url; its path is the part before the index",
        )
    return items


def index_fault(index: str, item: Item) -> HeadraceError:
    """Return the error that stands for an index that takes no documents at all."""
    for words, kind, what, advice in _INDEX_FAULTS:
        if words in item.reason:
            return kind(f"index {index} {what}: {item.reason}", advice)
    if item.status in {HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN}:
        return forbidden(index, item.status, item.reason)
    said = f"index {index} takes no documents (HTTP {item.status}): {item.reason}"
    if (
        item.status >= HTTPStatus.INTERNAL_SERVER_ERROR
        or item.status == HTTPStatus.TOO_MANY_REQUESTS
    ):
        return Transient(said)
    return Terminal(said, "correct the index, or the sink's index; no record is rejected for it")


def is_missing_pipeline(item: Item) -> bool:
    """Whether the index names an ingest pipeline that is not there."""
    return "pipeline with id" in item.reason and "does not exist" in item.reason


def pipeline_fault(index: str, item: Item) -> HeadraceError:
    """Return the error that stands for an ingest pipeline which lets no document through."""
    if is_missing_pipeline(item):
        return index_fault(index, item)
    return Terminal(
        f"the ingest pipeline of index {index} fails on every document: {item.reason}",
        "correct the pipeline: index.default_pipeline or index.final_pipeline names it",
    )


def request_fault(index: str, status: int, body: bytes) -> HeadraceError:
    """Return the error that stands for an answer to a whole request."""
    if status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        return Transient(f"the search node cannot accept requests at the moment (HTTP {status})")
    if status in {HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN}:
        return forbidden(index, status, _words(body))
    return Terminal(
        f"the search node rejects a bulk request (HTTP {status}): {_words(body)}",
        "correct the sink's url; its path is the part before the index",
    )


def forbidden(index: str, status: int, reason: str) -> Terminal:
    """Return the error for a request or a document that the node does not allow."""
    if status == HTTPStatus.UNAUTHORIZED:
        return Terminal(
            f"the search node does not accept the login (HTTP {status})",
            "correct the sink's api_key, or user and password in its url: https://user:password@…",
        )
    return Terminal(
        f"the search node forbids writing to index {index} (HTTP {status}): {reason}",
        "remove the block if there is one (index.blocks.write, cluster.blocks.read_only), or give "
        "the login the right to write to the index",
    )


class _Whole(msgspec.Struct):
    error: _Error


def _words(body: bytes) -> str:
    """Return the words of an answer to a whole request, as those of an item."""
    try:
        return Item(0, msgspec.json.decode(body, type=_Whole).error).reason
    except msgspec.DecodeError:
        return body[:MOST_CHARACTERS].decode(errors="replace").strip()
