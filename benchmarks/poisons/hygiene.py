"""Poisons for rules and masks."""

from __future__ import annotations

from typing import Final

from benchmarks.poisons.model import Poison
from headrace.config.common.hygiene import Hygiene
from headrace.records.hygiene.masks import masks
from headrace.records.hygiene.rules import first_broken, rules
from headrace.records.json.reader import JsonReader
from headrace.schema.avro import parse_avro

_SCHEMA: Final = parse_avro(
    {
        "type": "record",
        "name": "Event",
        "fields": [
            {"name": "s", "type": ["null", "string"], "default": None},
            {"name": "d", "type": ["null", "double"], "default": None},
            {"name": "z", "type": ["null", {"type": "array", "items": "string"}], "default": None},
            {"name": "m", "type": ["null", {"type": "map", "values": "string"}], "default": None},
        ],
    }
)
_HYGIENE: Final = Hygiene.model_validate(
    {
        "required": ["s"],
        "ranges": {"d": {"min": 0, "max": 1}},
        "mask": {"s": "sha256", "z": {"keep_first": 2}, "m": "redact"},
    }
).as_rules()
_READ: Final = JsonReader(_SCHEMA)
_BROKEN: Final = first_broken(rules(_HYGIENE, _SCHEMA))
_MASK: Final = masks(_HYGIENE, _SCHEMA)


def _cleaned(value: bytes) -> None:
    row = _READ(value)
    if _BROKEN(row, 0, 0) is None and _MASK is not None:
        _MASK(row)


def _poison(name: str, before: bytes, repeated: bytes, after: bytes) -> Poison:
    return Poison(
        f"hygiene: {name}",
        lambda size: before + repeated * (size // len(repeated)) + after,
        _cleaned,
    )


POISONS: Final = (
    _poison("a long text that is hashed", b'{"s":"', b"x", b'"}'),
    _poison("a list of texts that are masked", b'{"s":"","z":[', b'"xyz",', b'""]}'),
    _poison(
        "a masked map with one key again and again", b'{"s":"","m":{', b'"k":"xyz",', b'"":""}}'
    ),
    _poison("a number of many digits with a range", b'{"s":"","d":0.', b"9", b"9}"),
)
