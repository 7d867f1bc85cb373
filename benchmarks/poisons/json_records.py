"""Poisons for what reads JSON records."""

from __future__ import annotations

import contextlib
from typing import Final

from benchmarks.poisons.model import Poison
from headrace.records.json.reader import JsonReader
from headrace.records.rows import BadRecord
from headrace.schema.avro import parse_avro

_KINDS: Final = {
    "n": "long",
    "s": "string",
    "m": {"type": "bytes", "logicalType": "decimal", "precision": 20, "scale": 3},
    "t": {"type": "long", "logicalType": "timestamp-micros"},
    "a": {"type": "int", "logicalType": "date"},
    "o": {"type": "int", "logicalType": "time-millis"},
    "r": {"type": "array", "items": {"type": "array", "items": "int"}},
}
_SCHEMA: Final = parse_avro(
    {
        "type": "record",
        "name": "Event",
        "fields": [
            {"name": name, "type": ["null", kind], "default": None} for name, kind in _KINDS.items()
        ],
    }
)


_PLAIN: Final = JsonReader(_SCHEMA)
_CONVERTS: Final = JsonReader(_SCHEMA, ["n"])
_REFUSES_UNKNOWN: Final = JsonReader(_SCHEMA, refuses_unknown=True)


def _reads(name: str, parts: tuple[bytes, bytes, bytes], read: JsonReader = _PLAIN) -> Poison:
    """Return a poison of three parts, of which the middle one is repeated."""
    before, repeated, after = parts

    def make(size: int) -> bytes:
        return before + repeated * (size // len(repeated)) + after

    def run(value: bytes) -> None:
        with contextlib.suppress(BadRecord):
            read(value)

    return Poison(f"JSON: {name}", make, run)


POISONS: Final = (
    _reads("open brackets, then quotes that are escaped", (b"[" * 501, b'\\"', b"")),
    _reads("open brackets in a text without an end", (b'{"s":"' + b"[" * 501, b'\\"', b"")),
    _reads("levels in a field that the schema does not have", (b'{"y":', b"[", b"")),
    _reads("objects in a field that the schema does not have", (b'{"y":', b'{"a":', b"")),
    _reads("lists without items", (b'{"r":[', b"[],", b"[]]}")),
    _reads("a timestamp, then spaces", (b'{"t":"2026-01-05T03:04:05', b" ", b'x"}')),
    _reads("spaces before a timestamp", (b'{"t":"', b" ", b'x"}')),
    _reads("a timestamp with many digits", (b'{"t":"2026-01-05T03:04:05.', b"1", b'Z"}')),
    _reads("a date, then spaces", (b'{"a":"2026-01-05', b" ", b'x"}')),
    _reads("a time of day with many digits", (b'{"o":"03:04:05.', b"1", b'x"}')),
    _reads("a decimal of many digits", (b'{"m":', b"9", b"}")),
    _reads("a decimal of many digits behind the point", (b'{"m":1.', b"0", b"1}")),
    _reads("a decimal of many digits in a text", (b'{"m":"', b"9", b'"}')),
    _reads("a decimal, then spaces", (b'{"m":"1', b" ", b'x"}')),
    _reads("a whole number of many digits", (b'{"n":', b"9", b"}")),
    _reads("a text of digits as a number", (b'{"n":"', b"9", b'"}'), _CONVERTS),
    _reads("a number of many digits as a number", (b'{"n":1.', b"0", b"1}"), _CONVERTS),
    _reads("a text of spaces as a number", (b'{"n":"1', b" ", b'x"}'), _CONVERTS),
    _reads("the name of an unknown field", (b'{"', b" - at `$.", b'":1}'), _REFUSES_UNKNOWN),
    _reads("many unknown fields", (b"{", b'"y":1,', b'"s":1}')),
    _reads("escapes that are none", (b'{"s":"', b"\\ud800", b'"}')),
)
