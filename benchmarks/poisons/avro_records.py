"""Poisons for what reads Avro: records, and schemas that a producer may have registered."""

from __future__ import annotations

import contextlib
import json
from typing import TYPE_CHECKING, Any, Final

from benchmarks.poisons.model import Poison
from headrace.records.avro.leaf import Incompatible
from headrace.records.avro.resolution import Resolver
from headrace.records.avro.writer import long_bytes
from headrace.records.avro.writer_schema import SchemaUnreadable, parse
from headrace.records.framing import VALUE_HEADER, framed, in_headers
from headrace.records.rows import BadRecord
from headrace.schema.avro import parse_avro

if TYPE_CHECKING:
    from collections.abc import Callable

_ENDS: Final = (BadRecord, IndexError, UnicodeDecodeError, RecursionError)


def _field(name: str, kind: object) -> dict[str, object]:
    return {"name": name, "type": kind}


def _record(name: str, *fields: dict[str, object]) -> dict[str, Any]:
    return {"type": "record", "name": name, "fields": list(fields)}


def _many(item: object) -> dict[str, object]:
    return {"type": "array", "items": item}


_DECIMAL: Final = {"type": "bytes", "logicalType": "decimal", "precision": 20, "scale": 3}
_NODE: Final = _record("Node", _field("next", ["null", "Node"]))
_TREE: Final = _record("Tree", _field("many", _many("Tree")))
_STREAM: Final = _record("Event", _field("n", "long"))


def _reads(
    name: str,
    kind: object,
    parts: tuple[bytes, bytes, bytes],
    stream: object = None,
) -> Poison:
    """Return a poison of three parts, of which the middle one is repeated."""
    before, repeated, after = parts
    writer = _record("Event", _field("n", "long"), _field("x", kind))
    own = _record("Event", _field("n", "long"), *([_field("x", stream)] if stream else []))
    read = Resolver().reader(parse(json.dumps(writer)), parse_avro(own))

    def make(size: int) -> bytes:
        return b"\x02" + before + repeated * (size // len(repeated)) + after

    def run(value: bytes) -> None:
        with contextlib.suppress(*_ENDS):
            read(value, 0, len(value))

    return Poison(f"Avro: {name}", make, run)


def _counted(name: str, kind: object, repeated: bytes, stream: object = None) -> Poison:
    """Return a poison of an array that says how many items it has, and has them."""
    one = _reads(name, kind, (b"", repeated, b"\x00"), stream)

    def make(size: int) -> bytes:
        number = size // len(repeated)
        return b"\x02" + long_bytes(number) + repeated * number + b"\x00"

    return Poison(one.name, make, one.run)


def _schema(name: str, make: Callable[[int], object]) -> Poison:
    """Return a poison of a schema's JSON."""
    return _schema_text(name, lambda size: json.dumps(make(size)))


def _schema_text(name: str, make: Callable[[int], str]) -> Poison:
    """Return a poison of a schema that a record names: it is met once for each id."""
    stream = parse_avro(_STREAM)

    def run(value: bytes) -> None:
        with contextlib.suppress(SchemaUnreadable, Incompatible, RecursionError, BadRecord):
            Resolver().reader(parse(value.decode()), stream)

    return Poison(f"Avro schema: {name}", lambda size: make(size).encode(), run)


def _headers(value: bytes) -> None:
    with contextlib.suppress(BadRecord):
        framed(value)
    with contextlib.suppress(BadRecord):
        in_headers([(VALUE_HEADER, value)])


_NULLS: Final = _many(_many("null"))
_FULL: Final = long_bytes(2**15) + b"\x00"
POISONS: Final = (
    _counted("arrays of nulls in an array", _NULLS, _FULL, _many(_many(["null", "int"]))),
    _counted("arrays of nulls that nobody wants", _NULLS, _FULL),
    _counted("empty arrays", _NULLS, b"\x00", _many(_many(["null", "int"]))),
    _counted("empty arrays that nobody wants", _NULLS, b"\x00"),
    _counted("numbers", _many("long"), b"\x02", _many("long")),
    _counted("numbers that go on for ever", _many("long"), b"\xff" * 9, _many("long")),
    _counted("nulls in a union", _many(["null", "int"]), b"\x00", _many(["null", "int"])),
    _counted("trees in trees that nobody wants", _TREE, b"\x02"),
    _reads("blocks of one item", _many("long"), (b"", b"\x02\x02", b"\x00"), _many("long")),
    _reads("blocks of one null", _many("null"), (b"", b"\x02", b"\x00"), _many(["null", "int"])),
    _reads(
        "blocks of one null, with their length",
        _many("null"),
        (b"", b"\x01\x00", b"\x00"),
        _many(["null", "int"]),
    ),
    _reads("a list of nodes that nobody wants", _NODE, (b"", b"\x02", b"\x00")),
    _reads("a decimal of many bytes", _DECIMAL, (long_bytes(2**19), b"\x7f", b""), _DECIMAL),
    _reads("a text that is no UTF-8", "string", (long_bytes(2**19), b"\xc3", b""), "string"),
    _reads("a number of many bytes", "long", (b"", b"\xff", b""), "long"),
    Poison("Avro: a header or a prefix for the schema's id", lambda size: b"\x01" * size, _headers),
    _schema(
        "types in types that take no bytes",
        lambda size: [
            _record(f"R{n}", *(_field(f"f{m}", f"R{n - 1}" if n else "null") for m in range(2)))
            for n in range(size // 120)
        ],
    ),
    _schema_text("arrays in arrays", lambda size: '{"type":"array","items":' * (size // 24)),
    _schema_text("unions in unions", lambda size: "[" * size),
    _schema(
        "many branches of a union",
        lambda size: [_record(f"n{n}.Event", _field("n", "long")) for n in range(size // 100)],
    ),
)
