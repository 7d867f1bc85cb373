"""Avro records, by the schema that they name: each is a row that all sinks take, or a bad record."""

from __future__ import annotations

import contextlib
import json
from typing import TYPE_CHECKING, Any, Final, cast
from uuid import UUID

from headrace.records.arrow import arrow_schema, column_maker
from headrace.records.avro.reader import AvroReader
from headrace.records.avro.writer import AvroWriter
from headrace.records.framing import VALUE_HEADER
from headrace.records.json.reader import JsonReader
from headrace.records.json.writer import JsonWriter
from headrace.records.rows import BadRecord
from headrace.registry.answers import UnknownSchema
from headrace.schema.avro import to_avro
from tests.fuzz.json_records import SCHEMA, SEEDS
from tests.fuzz.target import Target, check_reason

if TYPE_CHECKING:
    from collections.abc import Mapping

    from headrace.records.rows import Headers
    from headrace.registry.client import Registry
    from headrace.schema.model import Record

OWN_ID: Final = 1


class Texts:
    """Schemas by their ids, as a registry that was asked before has them."""

    def __init__(self, texts: Mapping[int, str]) -> None:
        self._texts = texts

    def schema_by_id(self, schema_id: int) -> str:
        """Return the text of that id."""
        if schema_id not in self._texts:
            raise UnknownSchema(f"schema id {schema_id}")
        return self._texts[schema_id]

    def schema_by_guid(self, guid: UUID) -> str:
        """Return the text of that GUID, whose number is an id."""
        return self.schema_by_id(guid.int)


def reader_of(schema: Record, texts: Mapping[int, str]) -> AvroReader:
    """Return what reads a stream's records, whose writers' schemas are these."""
    return AvroReader(schema, cast("Registry", Texts(texts)))


class Check:
    """What must hold for whatever a reader of a schema gives."""

    def __init__(self, schema: Record, read: AvroReader) -> None:
        self._read = read
        self._columns = column_maker(schema, arrow_schema(schema))
        self._json, self._avro = JsonWriter(schema), AvroWriter(schema, OWN_ID)
        self._again = reader_of(schema, {OWN_ID: json.dumps(to_avro(schema))})

    def __call__(self, value: bytes | None, headers: Headers | None = None) -> None:
        """Read a value: a row that Arrow, JSON and Avro take as it is, or a reason."""
        try:
            row = self._read(value, headers)
        except BadRecord as problem:
            check_reason(problem.reason)
            return
        for column in self._columns([row]):
            column.validate(full=True)
        assert json.loads(self._json(row)) is not None
        written = self._avro(row)
        assert self._avro(self._again(written, None)) == written


def field(name: str, kind: object, **more: object) -> dict[str, Any]:
    """Return a field as Avro's JSON has it."""
    return {"name": name, "type": kind, **more}


_NODE: Final = {
    "type": "record",
    "name": "Node",
    "fields": [field("next", ["null", "Node"]), field("many", {"type": "array", "items": "Node"})],
}
_NOTHING: Final = {"type": "record", "name": "Nothing", "fields": [field("n", "null")]}
WRITERS: Final[dict[int, object]] = {
    OWN_ID: to_avro(SCHEMA),
    # What the stream does not want is passed over, whatever it is.
    2: {
        "type": "record",
        "name": "Event",
        "fields": [
            field("tree", _NODE),
            field("nothing", {"type": "array", "items": {"type": "map", "values": _NOTHING}}),
            field("some", {"type": "array", "items": {"type": "array", "items": "null"}}),
            field("one", ["null", "int", "string", {"type": "fixed", "name": "Z", "size": 0}]),
            field("l", ["int", "long", "string"]),
            field("d", ["float", "int"]),
            field("s", "bytes"),
        ],
    },
    # Each type that is read as another one of the stream's.
    3: {
        "type": "record",
        "name": "Event",
        "fields": [
            field("l", "int"),
            field("f", "long"),
            field("y", "string"),
            field("e", {"type": "enum", "name": "Kind", "symbols": ["C", "B", "A"]}),
            field("t", {"type": "long", "logicalType": "timestamp-millis"}),
            field("r", {"type": "array", "items": {"type": "map", "values": "float"}}),
            field("z", {"type": "array", "items": "null"}),
            field(
                "m",
                {
                    "type": "fixed",
                    "name": "F",
                    "size": 3,
                    "logicalType": "decimal",
                    "precision": 6,
                    "scale": 3,
                },
            ),
        ],
    },
    # One of a union, and schemas that cannot be used.
    4: ["null", {"type": "record", "name": "Other", "fields": []}, to_avro(SCHEMA)],
    5: {"type": "record", "name": "Other", "fields": []},
    6: ["null", ["string"]],
}


def _warmed(read: AvroReader) -> AvroReader:
    """Return the reader with all that it makes for a writer's schema made by now."""
    for number in WRITERS:
        with contextlib.suppress(BadRecord):
            read(framed(number, b""), None)
    return read


def _run_headers(value: bytes) -> None:
    said, _, payload = value.partition(b"\n")
    _CHECK(payload, [("other", b"x"), (VALUE_HEADER, said)])


def framed(number: int, payload: bytes) -> bytes:
    """Return a payload behind the id of its schema."""
    return b"\x00" + number.to_bytes(4, "big") + payload


def _written() -> list[bytes]:
    """Return records of the stream's own schema."""
    write, read = AvroWriter(SCHEMA, OWN_ID), JsonReader(SCHEMA)
    made: list[bytes] = []
    for text in SEEDS:
        try:
            made.append(write(read(text)))
        except BadRecord:
            continue
    return made


_READ: Final = _warmed(
    reader_of(SCHEMA, {number: json.dumps(one) for number, one in WRITERS.items()})
)
_CHECK: Final = Check(SCHEMA, _READ)
_OWN: Final = _written()
THIRD_PAYLOAD: Final = (
    b"\x0e\x10\x02a\x02\x00\x02\x02\x02k\x00\x00\x80?\x00\x00\x04\x00\x00\x05\xdc"
)
# What Arrow imports at its first value is imported by now: it takes a while.
_CHECK(_OWN[0])
OWN_PAYLOADS: Final = tuple(one[5:] for one in _OWN)
TARGETS: Final = (
    Target(
        "avro",
        _CHECK,
        (
            *_OWN,
            framed(2, b"\x02\x00\x00\x00" + b"\x00\x00" + b"\x02\x80\x01\x00\x00\x00\x06\x02\x0e"),
            framed(3, THIRD_PAYLOAD),
            *(framed(4, b"\x04" + one[5:]) for one in _OWN),
            framed(4, b"\x00"),
            framed(4, b"\x02"),
            framed(5, b""),
            framed(6, b""),
            b"\x01" + UUID(int=OWN_ID).bytes + _OWN[0][5:],
            b"\x01\x02",
            b"",
        ),
    ),
    Target(
        "avro-headers",
        _run_headers,
        (
            *(b"\x01" + UUID(int=OWN_ID).bytes + b"\n" + one[5:] for one in _OWN),
            b"\x00\x00\x00\x00\x03\n" + THIRD_PAYLOAD,
            b"\x00\x00\x00\x00\n" + THIRD_PAYLOAD,
        ),
    ),
)
