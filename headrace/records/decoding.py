"""The first half of a record's way: from bytes to a row that keeps the stream's rules.

Given as lines of a loop over messages `m`: what is bad goes to `bad` with the rule it broke.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

from headrace.contract import REGION_HEADER
from headrace.errors import Terminal
from headrace.records.avro_reader import AvroReader
from headrace.records.half_read import HalfReadMessage
from headrace.records.hygiene import (
    Broken,
    coerced_paths,
    first_broken,
    refuses_unknown,
    rules,
    size_limit,
    too_large,
)
from headrace.records.json_reader import UNREADABLE, JsonReader, explained
from headrace.records.masks import masks
from headrace.records.rows import BadRecord, row_class
from headrace.registry.client import shared

if TYPE_CHECKING:
    from collections.abc import Callable

    from headrace.config.hygiene import Hygiene
    from headrace.records.rows import Headers
    from headrace.registry.address import RegistryAddress
    from headrace.registry.client import Registry
    from headrace.schema.model import Record

Format: TypeAlias = Literal["json", "avro", "raw"]


@dataclass(frozen=True, slots=True)
class Decoding:
    """Lines that leave the row of a message in `r`, or skip to the next message; what they use.

    `first` stand before all others: they turn a message away that the client read only in part.
    """

    first: tuple[str, ...]
    lines: tuple[str, ...]
    names: dict[str, object]


def decoding(
    form: Format, schema: Record, hygiene: Hygiene, registry: RegistryAddress | None
) -> Decoding:
    """Return how a stream's records are decoded and checked; Avro needs a registry."""
    names: dict[str, object] = {
        "BadRecord": BadRecord,
        "HalfReadMessage": HalfReadMessage,
        "broken": broken_by(hygiene),
    }
    first = [
        "if m.__class__ is HalfReadMessage:",
        *_turned_away("broken(BadRecord(m.reason))"),
    ]
    lines = ["value = m.value()"]
    limit = size_limit(hygiene)
    if limit is not None:
        names |= {"too_large": lambda size: too_large(hygiene, size)}
        lines += [
            "size = len(value or b'') + len(m.key() or b'')",
            f"if size > {limit}:",
            *_turned_away("too_large(size)"),
        ]
    match form:
        case "raw":
            names["read"] = row_class(schema)
            lines.append("row = read(m.key(), value)")
        case "json":
            reader = JsonReader(
                schema, coerced_paths(hygiene, schema), refuses_unknown=refuses_unknown(hygiene)
            )
            names |= {"UNREADABLE": UNREADABLE, **reader.names}
            lines += ["try:", *(f"    {line}" for line in reader.lines)]
            lines += ["except UNREADABLE as problem:", *_turned_away("broken(problem)")]
        case "avro":
            names["read"] = AvroReader(schema, _client(registry))
            lines += ["try: row = read(value, m.headers())", "except BadRecord as problem:"]
            lines += _turned_away("broken(problem)")
    lines.append("r = row")
    known = rules(hygiene, schema)
    if known:
        names["first_broken"] = first_broken(known)
        lines += [
            "problem = first_broken(r, m.timestamp()[1], now_ms)",
            "if problem is not None:",
            *_turned_away("problem"),
        ]
    mask = masks(hygiene, schema)
    if mask is not None:
        names["mask"] = mask
        lines.append("mask(r)")
    return Decoding(tuple(first), tuple(lines), names)


def _turned_away(broken: str) -> list[str]:
    """Return what is done with a bad record; nothing behind one that a stream stops at is sent."""
    return [
        f"    told = {broken}",
        "    bad.append((m, told))",
        "    if told.action == 'fail': break",
        "    continue",
    ]


def broken_by(hygiene: Hygiene) -> Callable[[Exception], Broken]:
    """Return what tells what becomes of a record that could not be read."""

    def broken(problem: Exception) -> Broken:
        told = explained(problem)
        return Broken(told.kind, None, told.reason, hygiene.action(told.kind))

    return broken


def region_of(headers: Headers | None, default: str | None) -> str | None:
    """Return the region that a record names, else its cluster's."""
    for name, value in headers or ():
        if name == REGION_HEADER:
            return default if value is None else value.decode(errors="replace")
    return default


def _client(registry: RegistryAddress | None) -> Registry:
    if registry is None:
        raise Terminal("records in Avro cannot be read without a registry of their schemas")
    return shared(registry)
