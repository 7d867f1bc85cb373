"""A stream's schema as values: what Avro can say and every system of ours can hold.

Names of types are full names (`namespace.name`).
"""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import Final, TypeAlias


class Primitive(enum.Enum):
    """A type without parameters, under its Avro name or logical name."""

    BOOLEAN = "boolean"
    INT = "int"
    LONG = "long"
    FLOAT = "float"
    DOUBLE = "double"
    BYTES = "bytes"
    STRING = "string"
    DATE = "date"
    TIME_MILLIS = "time-millis"
    TIME_MICROS = "time-micros"
    TIMESTAMP_MILLIS = "timestamp-millis"
    TIMESTAMP_MICROS = "timestamp-micros"
    LOCAL_TIMESTAMP_MILLIS = "local-timestamp-millis"
    LOCAL_TIMESTAMP_MICROS = "local-timestamp-micros"
    UUID = "uuid"


INSTANTS: Final = frozenset({Primitive.TIMESTAMP_MILLIS, Primitive.TIMESTAMP_MICROS})
WALL_CLOCKS: Final = frozenset({Primitive.LOCAL_TIMESTAMP_MILLIS, Primitive.LOCAL_TIMESTAMP_MICROS})
TIMESTAMPS: Final = INSTANTS | WALL_CLOCKS


@dataclass(frozen=True, slots=True)
class Fixed:
    """Exactly `size` bytes. `is_uuid` keeps Avro's mark; the value stays the 16 bytes."""

    name: str
    size: int
    is_uuid: bool = False
    aliases: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Decimal:
    """A decimal number; stored as bytes, or as a fixed where one is given."""

    precision: int
    scale: int
    fixed: Fixed | None = None


@dataclass(frozen=True, slots=True)
class Enumeration:
    """A string out of a closed list."""

    name: str
    symbols: tuple[str, ...]
    default: str | None = None
    doc: str | None = None
    aliases: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Many:
    """Items of one type."""

    item: Type
    item_nullable: bool
    item_null_last: bool = False


@dataclass(frozen=True, slots=True)
class Array(Many):
    """A list of items."""


@dataclass(frozen=True, slots=True)
class Map(Many):
    """Items under string keys."""


@dataclass(frozen=True, slots=True)
class Field:
    """A named value of a record. `default` is JSON text, None where there is no default.

    `null_last` says `[X, "null"]`: Avro's bytes hold the position in the union, so a reader
    that turned it round would take values for nulls.
    """

    name: str
    type: Type
    nullable: bool
    doc: str | None = None
    default: str | None = None
    aliases: tuple[str, ...] = ()
    null_last: bool = False


@dataclass(frozen=True, slots=True)
class Record:
    """Named values in order; a stream's schema is one of these."""

    name: str
    fields: tuple[Field, ...]
    doc: str | None = None
    aliases: tuple[str, ...] = ()

    def field(self, name: str) -> Field | None:
        """Return the field of that name, compared without case as Spark does."""
        folded = name.casefold()
        return next((field for field in self.fields if field.name.casefold() == folded), None)


Type: TypeAlias = Primitive | Fixed | Decimal | Enumeration | Array | Map | Record
