"""JSON records: each is a row that a sink and a table can take, or a bad record."""

from __future__ import annotations

from typing import Final

from headrace.records.arrow import arrow_schema, column_maker
from headrace.records.json.reader import JsonReader
from headrace.records.json.writer import JsonWriter
from headrace.records.rows import BadRecord
from headrace.schema.avro import parse_avro
from tests.fuzz.target import Target, check_reason

_EACH: Final = {
    "b": "boolean",
    "i": "int",
    "l": "long",
    "f": "float",
    "d": "double",
    "s": "string",
    "u": {"type": "string", "logicalType": "uuid"},
    "y": "bytes",
    "x": {"type": "fixed", "name": "Two", "size": 2},
    "e": {"type": "enum", "name": "Kind", "symbols": ["A", "B"]},
    "m": {"type": "bytes", "logicalType": "decimal", "precision": 20, "scale": 3},
    "a": {"type": "int", "logicalType": "date"},
    "t": {"type": "long", "logicalType": "timestamp-micros"},
    "w": {"type": "long", "logicalType": "local-timestamp-millis"},
    "o": {"type": "int", "logicalType": "time-millis"},
    "r": {"type": "array", "items": {"type": "map", "values": "double"}},
    "n": {
        "type": "record",
        "name": "Inner",
        "fields": [
            {"name": "k", "type": "long", "default": 7, "aliases": ["old"]},
            {"name": "p", "type": ["null", "string"], "default": None},
        ],
    },
    "z": {"type": "array", "items": ["null", "string"]},
}
SCHEMA: Final = parse_avro(
    {
        "type": "record",
        "name": "Event",
        "fields": [
            {"name": name, "type": ["null", kind], "default": None} for name, kind in _EACH.items()
        ],
    }
)
COERCIBLE: Final = ("b", "i", "l", "f", "d", "s", "u", "m", "n.k", "n.p")
_WRITE: Final = JsonWriter(SCHEMA)
_COLUMNS: Final = column_maker(SCHEMA, arrow_schema(SCHEMA))


def _run(read: JsonReader, value: bytes) -> None:
    try:
        row = read(value)
    except BadRecord as problem:
        check_reason(problem.reason)
        return
    for column in _COLUMNS([row]):
        column.validate(full=True)
    text = _WRITE(row)
    assert _WRITE(_READ(text)) == text


_READ: Final = JsonReader(SCHEMA)
_COERCED: Final = JsonReader(SCHEMA, COERCIBLE, refuses_unknown=True)
SEEDS: Final = (
    b'{"b":true,"i":-1,"l":9007199254740993,"f":0.1,"d":1e308,"s":"\\u00e9"}',
    b'{"u":"5","y":"aGk=","x":"aGk=","e":"A","m":"1.5","a":"1970-01-03","t":1500}',
    b'{"t":"2026-01-05T03:04:05.123456Z","w":"2026-01-05T03:04:05+02:00","o":"23:59:59.5"}',
    b'{"r":[{"a":1.5,"b":"NaN"},{}],"n":{"k":1,"p":null}}',
    b'{"n":{"old":null},"unknown":[[[{"a":"\\"["}]]]}',
    b'{"b":"true","i":"5","l":5.0,"f":"1e3","d":"Infinity","s":1.10,"m":"1_0","n":{"k":"3"}}',
    b'{"m":"NaN"}',
)

TARGETS: Final = (
    Target("json", lambda value: _run(_READ, value), SEEDS),
    Target("json-coerced", lambda value: _run(_COERCED, value), SEEDS),
)
