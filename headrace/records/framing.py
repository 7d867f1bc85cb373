"""Which schema a record was written with: Confluent's framing, before the value or in a header."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final
from uuid import UUID

from headrace.records.rows import BadRecord

if TYPE_CHECKING:
    from headrace.records.rows import Headers

VALUE_HEADER: Final = "__value_schema_id"
ID_MAGIC: Final = 0
GUID_MAGIC: Final = 1
ID_END: Final = 5
GUID_END: Final = 17


def framed(value: bytes) -> tuple[int | UUID, int]:
    """Return the schema that stands before a value, an id or a GUID, and where that ends."""
    if not value:
        raise BadRecord("the value is empty")
    magic = value[0]
    if magic == ID_MAGIC and len(value) >= ID_END:
        return int.from_bytes(value[1:ID_END], "big"), ID_END
    if magic == GUID_MAGIC and len(value) >= GUID_END:
        return UUID(bytes=value[1:GUID_END]), GUID_END
    if magic in {ID_MAGIC, GUID_MAGIC}:
        raise BadRecord("the value ends before its schema id does")
    raise BadRecord(f"the value does not begin with a schema id: its first byte is 0x{magic:02x}")


def in_headers(headers: Headers) -> UUID | int | None:
    """Return the schema that a header says; None where none does.

    The first of several counts, as it does for Confluent's own client.
    """
    for name, value in headers:
        if name == VALUE_HEADER and value is not None:
            if (value[:1], len(value)) not in {(b"\0", ID_END), (b"\1", GUID_END)}:
                raise BadRecord("its header for the schema id has no valid id")
            return framed(value)[0]
    return None


def id_prefix(schema_id: int) -> bytes:
    """Return what stands before a value that was written with that schema."""
    return bytes([ID_MAGIC]) + schema_id.to_bytes(ID_END - 1, "big")
