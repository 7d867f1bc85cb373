"""How a record is held between decoding and encoding: a class per schema.

The fields are attributes `f0`, `f1`, … in the schema's order, so that a field may have any name,
a keyword of Python among them. `docs/decisions/0006-compiled-expressions.md` has the values' types.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

import msgspec

from headrace.records.codegen import Names, function
from headrace.schema.defaults import HeldRecord, held_default

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from headrace.kafka.message import Message
    from headrace.schema.model import Field, Record

# An instance of a schema's class. Its attributes are made at run time: no checker knows them.
Row: TypeAlias = Any
Headers: TypeAlias = "Sequence[tuple[str, bytes | None]]"
# As they are given to a client, which encodes text as UTF-8.
HeadersToSend: TypeAlias = "Sequence[tuple[str, str | bytes | None]]"
# `decode`: what is not of the stream's format or has a value of a wrong type.
# `schema`: what was written with a schema that cannot be had, or that does not resolve.
# `expression`: what the expressions of an output fail on.
BadRecordKind: TypeAlias = Literal[
    "required", "range", "future_skew", "size", "unknown_fields", "decode", "schema", "expression"
]
# A field's value, by the table of the decision.
FieldValue: TypeAlias = Any


# A reason is sent with its record: what it quotes must not make that too large.
MOST_REASON: Final = 500


class BadRecord(Exception):
    """A record that its stream rejects: the reason in a sentence, and its kind."""

    def __init__(self, reason: str, kind: BadRecordKind = "decode") -> None:
        if len(reason) > MOST_REASON:
            reason = f"{reason[: MOST_REASON - 1]}…"
        super().__init__(reason)
        self.reason = reason
        self.kind = kind


class HalfReadMessage:
    """A message of Kafka's client that is whole but for names of headers, and what is wrong."""

    def __init__(self, message: Message, reason: str) -> None:
        self.message = message
        self.reason = reason

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - whatever the message has
        return getattr(self.message, name)

    def __len__(self) -> int:
        return len(self.message)


@lru_cache(maxsize=1024)
def row_class(record: Record) -> type[msgspec.Struct]:
    """Return the class whose instances hold records of that schema; the same one each time."""
    fields = [(attribute(number), Any) for number, _ in enumerate(record.fields)]
    names = {attribute(number): field.name for number, field in enumerate(record.fields)}
    return msgspec.defstruct("Row", fields, rename=names, gc=False)


def attribute(number: int) -> str:
    """Return what a class calls its field of that number."""
    return f"f{number}"


def default_of(field: Field) -> Callable[[], FieldValue]:
    """Return what makes the field's default, null where it has none."""
    names = Names()
    source = default_source(field, names)
    return function("default", [], [f"return {source}"], names.objects)


def default_source(field: Field, names: Names) -> str:
    """Return an expression for the field's default, made for each record: none share a list."""
    return _fresh(held_default(field), names)


def _fresh(value: object, names: Names) -> str:
    match value:
        case list():
            return f"[{', '.join(_fresh(one, names) for one in value)}]"
        case dict():
            pairs = (f"{names.name(key)}: {_fresh(one, names)}" for key, one in value.items())
            return f"{{{', '.join(pairs)}}}"
        case HeldRecord():
            made = names.name(row_class(value.record))
            return f"{made}({', '.join(_fresh(one, names) for one in value.values)})"
    return names.name(value)
