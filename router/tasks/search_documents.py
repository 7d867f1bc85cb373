"""A document as a search node is sent it: its id, its version, and its lines of a request."""

from __future__ import annotations

import json
import zlib
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Final, Self

from headrace.contract import ORIGIN
from headrace.errors import Terminal

if TYPE_CHECKING:
    from headrace.records.rows import HeadersToSend
    from router.plan.model import ToSearch

LONGEST_ID_BYTES: Final = 512
# A version is the offset, and below it a mark of the partition whose offset it is.
_MARK_BITS: Final = 16
_MARK: Final = 2**_MARK_BITS - 1
# A condition that no document fulfils, so that nothing is written.
_NEVER: Final = {"if_seq_no": 2**53 - 1, "if_primary_term": 1}


@dataclass(frozen=True, slots=True)
class SearchDocument:
    """One document, and the record that it is of. Without a version it replaces any other."""

    id: str
    version: int | None
    lines: bytes
    value: bytes | None
    key: bytes | str | None
    headers: HeadersToSend

    @property
    def bad_id(self) -> str | None:
        """What is wrong with the id, None where an index takes it: a node refuses all of a request."""
        size = len(self.id.encode(errors="surrogatepass"))
        if 0 < size <= LONGEST_ID_BYTES:
            return None
        return f"the document's id has {size} bytes; an index takes 1 to {LONGEST_ID_BYTES}"

    def is_older_than(self, current_version: int | None) -> bool:
        """Whether the index has a newer write: what another partition wrote has no order to this."""
        if self.version is None or current_version is None:
            return self.version is not None
        return self.version & _MARK == current_version & _MARK

    def without_version(self) -> Self:
        """Return the document as one that replaces any other."""
        return replace(self, version=None, lines=_document_lines(self.id, None, self.value))


def document_of(
    target: ToSearch, value: bytes | None, key: bytes | str | None, headers: HeadersToSend
) -> SearchDocument:
    """Return the document of a record."""
    version = None
    if target.key_column is not None and key is not None and target.topic_id is not None:
        _, partition, offset = _origin(target, headers)
        version = int(offset) << _MARK_BITS | _mark(target.topic_id, partition)
    name = document_id(target, key, headers)
    lines = _document_lines(name, version, value)
    return SearchDocument(name, version, lines, value, key, headers)


def document_id(target: ToSearch, key: bytes | str | None, headers: HeadersToSend) -> str:
    """Return a document's id: its column's value, else where its record was read."""
    if target.key_column is not None and key is not None:
        return key if isinstance(key, str) else key.decode(errors="backslashreplace")
    return "-".join(_origin(target, headers))


def probe_lines(document_id: str, *, with_pipelines: bool) -> bytes:
    """Return an empty document that is never written: it tells whether its index takes any."""
    action: dict[str, object] = {"_id": document_id, **_NEVER}
    if not with_pipelines:
        action["pipeline"] = "_none"
    return _lines(action, b"{}")


def _document_lines(name: str, version: int | None, value: bytes | None) -> bytes:
    action: dict[str, object] = {"_id": name}
    if version is not None:
        action |= {"version": version, "version_type": "external_gte"}
    return _lines(action, value or b"{}")


def _lines(action: dict[str, object], value: bytes) -> bytes:
    return b"%s\n%s\n" % (json.dumps({"index": action}).encode(), value)


def _origin(target: ToSearch, headers: HeadersToSend) -> tuple[str, str, str]:
    """Return topic, partition and offset that a record was read from, by its last origin header."""
    for name, value in reversed(headers):
        if name == ORIGIN and value is not None:
            text = value if isinstance(value, str) else value.decode()
            topic, partition, offset, _ = text.rsplit("/", 3)
            return topic, partition, offset
    raise Terminal(f"a document for index {target.index} has no topic, partition and offset")


@lru_cache(maxsize=10_000)
def _mark(topic_id: str, partition: str) -> int:
    return zlib.crc32(f"{topic_id}/{partition}".encode()) & _MARK
