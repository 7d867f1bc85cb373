from __future__ import annotations

from uuid import UUID

import pytest

from headrace.records.framing import VALUE_HEADER, framed, id_prefix, in_headers
from headrace.records.rows import BadRecord

GUID = UUID("89791762-2336-4186-9674-299b90a802e2")


def test_an_id_before_the_value() -> None:
    assert framed(b"\x00\x00\x00\x01\x02rest") == (258, 5)
    assert framed(b"\x00\xff\xff\xff\xff") == (2**32 - 1, 5)


def test_a_guid_before_the_value() -> None:
    assert framed(b"\x01" + GUID.bytes + b"rest") == (GUID, 17)


def test_what_is_written_is_what_is_read() -> None:
    assert framed(id_prefix(258) + b"rest") == (258, 5)


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (b"", "the value is empty"),
        (b"\x00\x00\x00\x01", "ends before its schema id does"),
        (b"\x01" + GUID.bytes[:-1], "ends before its schema id does"),
        (b'{"id": 1}', "its first byte is 0x7b"),
        (b"\x02\x00\x00\x00\x01", "its first byte is 0x02"),
    ],
)
def test_a_value_that_names_no_schema(value: bytes, reason: str) -> None:
    with pytest.raises(BadRecord, match=reason):
        framed(value)


def test_a_header_names_the_schema() -> None:
    said = b"\x01" + GUID.bytes
    headers = [
        ("trace", b"1"),
        ("__key_schema_id", b"x"),
        (VALUE_HEADER, said),
        (VALUE_HEADER, b""),
    ]
    assert in_headers(headers) == GUID
    assert in_headers([(VALUE_HEADER, id_prefix(7))]) == 7
    assert in_headers([("trace", b"1"), (VALUE_HEADER, None)]) is None
    assert in_headers([]) is None


@pytest.mark.parametrize("said", [b"", b"\x00", b"\x01" + GUID.bytes + b"x", GUID.bytes])
def test_a_header_that_names_none(said: bytes) -> None:
    with pytest.raises(BadRecord, match="header for the schema id has no valid id"):
        in_headers([(VALUE_HEADER, said)])
