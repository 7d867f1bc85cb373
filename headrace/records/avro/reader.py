"""Reads Avro records: each has its writer's schema, and becomes a row of the stream's."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any
from uuid import UUID

from headrace.records.avro.leaf import Incompatible
from headrace.records.avro.resolution import Resolver
from headrace.records.avro.writer_schema import SchemaUnreadable, parse
from headrace.records.framing import ID_END, framed, in_headers
from headrace.records.rows import BadRecord
from headrace.registry.answers import UnknownSchema, UnusableSchema

if TYPE_CHECKING:
    from collections.abc import Callable

    from headrace.records.rows import BadRecordKind, Headers, Row
    from headrace.registry.client import Registry
    from headrace.schema.model import Record


class AvroReader:
    """Reads a stream's records; what cannot be one is a BadRecord.

    A registry that does not answer is Transient: the record is not to blame, and is read later.
    """

    def __init__(self, schema: Record, registry: Registry) -> None:
        self._schema = schema
        self._registry = registry
        self._readers: dict[int | UUID, Callable[..., Any]] = {}
        self._by_prefix: dict[bytes, Callable[..., Any]] = {}

    def __call__(self, value: bytes | None, headers: Headers | None) -> Row:
        """Return the record."""
        if value is None:
            raise BadRecord("the record has no value")
        named = in_headers(headers) if headers else None
        # Most records by far: an id before the value, which was met before.
        read, start = self._by_prefix.get(value[:ID_END]), ID_END
        if named is not None:
            read, start = self._reader(named), 0
        elif read is None:
            written, start = framed(value)
            read = self._reader(written)
            if start == ID_END:
                self._by_prefix[value[:ID_END]] = read
        end = len(value)
        try:
            row, pos = read(value, start, end)
        except (IndexError, struct.error):
            raise BadRecord("the value ends before its record does") from None
        except UnicodeDecodeError:
            raise BadRecord("a text in it is not UTF-8") from None
        except RecursionError:
            raise BadRecord("its records are nested too deep") from None
        if pos != end:
            raise BadRecord(f"{end - pos} bytes follow the record in its value")
        return row

    def _reader(self, written: int | UUID) -> Callable[..., Any]:
        """Return what reads records of that schema; the answer is stored, also a refusal."""
        known = self._readers.get(written)
        if known is None:
            known = self._readers[written] = self._made(written)
        return known

    def _made(self, written: int | UUID) -> Callable[..., Any]:
        try:
            text = (
                self._registry.schema_by_guid(written)
                if isinstance(written, UUID)
                else self._registry.schema_by_id(written)
            )
        except UnusableSchema as error:
            # Not stored: somebody may register it later. The registry's client limits its requests.
            kind: BadRecordKind = "decode" if isinstance(error, UnknownSchema) else "schema"
            raise BadRecord(f"its schema id {written} {error.reason}", kind) from None
        try:
            return Resolver().reader(parse(text), self._schema)
        except SchemaUnreadable as error:
            return _refusal(f"its schema {written} cannot be read: {error}")
        except RecursionError:
            return _refusal(f"its schema {written} cannot be read: it is nested too deep")
        except Incompatible as error:
            return _refusal(f"its schema {written} cannot be read as this stream's: {error}")


def _refusal(reason: str) -> Callable[..., Any]:
    def refuse(_buf: bytes, _pos: int, _end: int) -> Any:  # noqa: ANN401 - as other readers
        raise BadRecord(reason, kind="schema")

    return refuse
