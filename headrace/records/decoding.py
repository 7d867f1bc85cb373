"""Decodes and checks a record: from its bytes to a row that obeys the stream's rules.

Given as lines of a loop over messages `m`: what is bad goes to `bad` with the rule it broke.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from headrace.contract import REGION_HEADER, ValueFormat
from headrace.errors import Terminal
from headrace.records.avro.reader import AvroReader
from headrace.records.hygiene.masks import masks
from headrace.records.hygiene.rules import Broken, coerced_paths, first_broken, rules, too_large
from headrace.records.json.reader import UNREADABLE, JsonReader, explained
from headrace.records.rows import BadRecord, HalfReadMessage, row_class
from headrace.registry.client import shared
from headrace.times import FIRST_US, LAST_US

if TYPE_CHECKING:
    from collections.abc import Collection

    from headrace.records.hygiene.rules import HygieneRules
    from headrace.records.rows import Headers
    from headrace.registry.address import RegistryAddress
    from headrace.schema.model import Record

FIRST_MS: Final = FIRST_US // 1000
END_MS: Final = (LAST_US + 1) // 1000
# What Kafka has where a producer gave a record no time.
NO_TIME_MS: Final = -1
NO_TIME: Final = "it has no timestamp (-1), so its time of arrival is not known"
BEYOND: Final = "its timestamp lies beyond the years 0001 to 9999"


@dataclass(frozen=True, slots=True)
class Decoding:
    """Lines that leave the row of a message in `r`, or skip to the next message; what they use.

    `first` stand before all others: they reject a message that the client read only in part, and
    one whose time no table could hold.
    """

    first: tuple[str, ...]
    lines: tuple[str, ...]
    names: dict[str, object]


def decoding(  # noqa: PLR0913 - how records are read is said by name
    form: ValueFormat,
    schema: Record,
    hygiene: HygieneRules,
    registry: RegistryAddress | None,
    *,
    needs_time: bool,
    texts: Collection[str] = (),
) -> Decoding:
    """Return how a stream's records are decoded and checked; Avro needs a registry.

    `texts` are instants that rows hold as text, where the format is JSON: `filled_up` has the rest.

    Where `needs_time`, a record without a timestamp is a bad one, and the lines leave the
    timestamp of a good one in `at`.
    """

    def broken(problem: Exception) -> Broken:
        bad = explained(problem)
        return Broken(bad.kind, None, bad.reason, hygiene.action(bad.kind))

    names: dict[str, object] = {
        "BadRecord": BadRecord,
        "HalfReadMessage": HalfReadMessage,
        "broken": broken,
    }
    first = ["if m.__class__ is HalfReadMessage:", *_rejected("broken(BadRecord(m.reason))")]
    if needs_time:
        action = hygiene.action("decode")
        names["no_time"] = Broken("decode", None, NO_TIME, action)
        names["beyond"] = Broken("decode", None, BEYOND, action)
        first += [
            "at = m.timestamp()[1]",
            f"if not {FIRST_MS} <= at < {END_MS} or at == {NO_TIME_MS}:",
            *_rejected(f"no_time if at == {NO_TIME_MS} else beyond"),
        ]
    lines = ["value = m.value()"]
    limit = hygiene.max_size
    if limit is not None:
        names |= {"too_large": lambda size: too_large(hygiene, size)}
        lines += [
            "size = len(value or b'') + len(m.key() or b'')",
            f"if size > {limit}:",
            *_rejected("too_large(size)"),
        ]
    match form:
        case "raw":
            names["read"] = row_class(schema)
            lines.append("row = read(m.key(), value)")
        case "json":
            reader = JsonReader(
                schema,
                coerced_paths(hygiene, schema),
                refuses_unknown=hygiene.refuses_unknown,
                texts=texts,
            )
            names |= {"UNREADABLE": UNREADABLE, **reader.names}
            lines += ["try:", *(f"    {line}" for line in reader.lines)]
            lines += ["except UNREADABLE as problem:", *_rejected("broken(problem)")]
        case "avro":
            if registry is None:
                raise Terminal("records in Avro cannot be read without a registry of their schemas")
            names["read"] = AvroReader(schema, shared(registry))
            lines += ["try: row = read(value, m.headers())", "except BadRecord as problem:"]
            lines += _rejected("broken(problem)")
    lines.append("r = row")
    known = rules(hygiene, schema)
    if known:
        names["first_broken"] = first_broken(known)
        lines += [
            "problem = first_broken(r, m.timestamp()[1], now_ms)",
            "if problem is not None:",
            *_rejected("problem"),
        ]
    mask = masks(hygiene, schema)
    if mask is not None:
        names["mask"] = mask
        lines.append("mask(r)")
    return Decoding(tuple(first), tuple(lines), names)


def _rejected(broken: str) -> list[str]:
    """Return what is done with a bad record; nothing behind one that a stream stops at is sent."""
    return [
        f"    rejected = {broken}",
        "    bad.append((m, rejected))",
        "    if rejected.action == 'fail': break",
        "    continue",
    ]


def region_of(headers: Headers | None, default: str | None) -> str | None:
    """Return the region that a record names, else its cluster's."""
    for name, value in headers or ():
        if name == REGION_HEADER:
            return default if value is None else value.decode(errors="replace")
    return default
