"""Avro schemas: a writer's of any text, a stream's own, and both as a pair over any payload."""

from __future__ import annotations

import json
from typing import Final

from headrace.records.rows import BadRecord
from headrace.registry.references import stand_alone
from headrace.schema.avro import parse_avro, to_avro
from headrace.schema.rules import SchemaRefused
from tests.fuzz.avro_records import (
    OWN_PAYLOADS,
    THIRD_PAYLOAD,
    WRITERS,
    Check,
    field,
    framed,
    reader_of,
)
from tests.fuzz.json_records import SCHEMA
from tests.fuzz.target import Target, check_reason

WRITER: Final = 7
# No text of JSON has it.
BETWEEN: Final = b"\x00"


def _run_writer(value: bytes) -> None:
    """Read a payload by a schema of any text."""
    text, _, payload = value.partition(BETWEEN)
    read = reader_of(SCHEMA, {WRITER: text.decode(errors="replace")})
    Check(SCHEMA, read)(framed(WRITER, payload))


def _run_pair(value: bytes) -> None:
    """Read a payload by any writer's schema as any stream's, if that is one."""
    writer, _, rest = value.partition(BETWEEN)
    own, _, payload = rest.partition(BETWEEN)
    try:
        stream = parse_avro(json.loads(own))
    except (ValueError, RecursionError):
        return
    except SchemaRefused as refused:
        _check_shown(refused)
        return
    assert parse_avro(to_avro(stream)) == stream
    read = reader_of(stream, {WRITER: writer.decode(errors="replace")})
    Check(stream, read)(framed(WRITER, payload))


def _check_shown(refused: SchemaRefused) -> None:
    assert refused.problems
    assert str(refused).encode()


def _run_references(value: bytes) -> None:
    """Put schemas into the one that refers to them, and read by that."""
    text, *referred = (one.decode(errors="replace") for one in value.split(BETWEEN))
    try:
        whole = stand_alone(text, referred)
    except (ValueError, RecursionError):
        return
    try:
        reader_of(SCHEMA, {WRITER: whole})(framed(WRITER, b"\x02\x0e"), None)
    except BadRecord as problem:
        check_reason(problem.reason)


_ENUM: Final = {"type": "enum", "name": "K", "symbols": ["a", "b"], "default": "a"}
_FIXED: Final = {"type": "fixed", "name": "F", "size": 2}
_DECIMAL: Final = {"logicalType": "decimal", "precision": 4, "scale": 2}
_INNER: Final = {"type": "record", "name": "I", "fields": [field("y", "long", default=7)]}
_MILLIS: Final = {"type": "long", "logicalType": "timestamp-millis"}
_MICROS: Final = {"type": "long", "logicalType": "timestamp-micros"}
_NONE: Final = {"type": "array", "items": "null"}
_MAP: Final = {"type": "map", "values": _FIXED}
# A writer's field, the stream's, and the bytes of one that can be read.
_PAIRS: Final[tuple[tuple[dict[str, object], dict[str, object], bytes], ...]] = (
    (field("x", "int"), field("x", "double"), b"\x02"),
    (field("x", "string"), field("x", ["bytes", "null"]), b"\x02a"),
    (field("x", ["null", "string"]), field("x", ["null", "string"], default=None), b"\x02\x02a"),
    (field("x", _NONE), field("x", {"type": "array", "items": ["null", "int"]}), b"\x06\x00"),
    (field("x", _MAP), field("x", _MAP), b"\x02\x02kAB\x00"),
    (
        field("x", {"type": "bytes", **_DECIMAL}),
        field("x", {**_FIXED, **_DECIMAL}),
        b"\x04\x05\xdc",
    ),
    (field("x", {**_FIXED, **_DECIMAL}), field("x", {"type": "bytes", **_DECIMAL}), b"\x05\xdc"),
    (field("x", {**_ENUM, "symbols": ["c", "b"]}), field("x", _ENUM), b"\x00"),
    (field("x", {**_INNER, "fields": []}), field("x", _INNER), b""),
    (field("x", "long"), field("z", "long", default=7, aliases=["x"]), b"\x02"),
    (field("x", _MILLIS), field("x", _MICROS), b"\x02"),
    (field("x", {"type": "string", "logicalType": "uuid"}), field("x", "string"), b"\x02a"),
    (
        field("x", "string"),
        field("x", {"type": "string", "logicalType": "uuid"}),
        b"\x48" + b"12345678-1234-5678-1234-567812345678",
    ),
)


def _text(one: object) -> bytes:
    return json.dumps({"type": "record", "name": "E", "fields": [one]}).encode()


TARGETS: Final = (
    Target(
        "avro-writers",
        _run_writer,
        (
            *(json.dumps(WRITERS[1]).encode() + BETWEEN + one for one in OWN_PAYLOADS),
            *(
                json.dumps(one).encode() + BETWEEN + payload
                for one in WRITERS.values()
                for payload in (THIRD_PAYLOAD, bytes(12))
            ),
        ),
    ),
    Target(
        "avro-pairs",
        _run_pair,
        tuple(
            BETWEEN.join((_text(writer), _text(stream), payload))
            for writer, stream, payload in _PAIRS
        ),
    ),
    Target(
        "avro-references",
        _run_references,
        tuple(
            BETWEEN.join(texts)
            for texts in (
                (
                    b'{"type":"record","name":"Event","fields":[{"name":"n","type":"Inner"}]}',
                    b'{"type":"record","name":"Inner","fields":[{"name":"k","type":"long"}]}',
                ),
                (b'["a.B","B"]', b'{"type":"fixed","name":"B","namespace":"a","size":1}', b'["A"]'),
            )
        ),
    ),
)
