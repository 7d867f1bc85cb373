"""Which schema a record was written with: Confluent's framing, before the value or in a header."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple
from uuid import UUID

from headrace.records.rows import BadRecord

if TYPE_CHECKING:
    from headrace.records.rows import Headers

VALUE_HEADER: Final = "__value_schema_id"
ID_MAGIC: Final = 0
GUID_MAGIC: Final = 1
ID_END: Final = 5
GUID_END: Final = 17


class Framed(NamedTuple):
    """A schema as the record names it, and where in the record's value its payload starts."""

    schema: int | UUID
    start: int


def framed(value: bytes) -> Framed:
    """Return what stands before a value: a magic byte, then an id or a GUID."""
    if not value:
        raise BadRecord("the value is empty")
    magic = value[0]
    if magic == ID_MAGIC and len(value) >= ID_END:
        return Framed(int.from_bytes(value[1:ID_END], "big"), ID_END)
    if magic == GUID_MAGIC and len(value) >= GUID_END:
        return Framed(UUID(bytes=value[1:GUID_END]), GUID_END)
    if magic in {ID_MAGIC, GUID_MAGIC}:
        raise BadRecord("the value ends before its schema id does")
    raise BadRecord(f"the value does not begin with a schema id: its first byte is 0x{magic:02x}")


def in_headers(headers: Headers) -> UUID | int | None:
    """Return the schema that a header says; None where none does.

    The first of several counts, as it does for Confluent's own client.
    """
    for name, value in headers:
        if name == VALUE_HEADER and value is not None:
            return _schema_of(value)
    return None


def id_prefix(schema_id: int) -> bytes:
    """Return what stands before a value that was written with that schema."""
    return bytes([ID_MAGIC]) + schema_id.to_bytes(ID_END - 1, "big")


def _schema_of(header: bytes) -> UUID | int:
    if len(header) == GUID_END and header[0] == GUID_MAGIC:
        return UUID(bytes=header[1:])
    if len(header) == ID_END and header[0] == ID_MAGIC:
        return int.from_bytes(header[1:], "big")
    raise BadRecord("its header for the schema id has no valid id")
