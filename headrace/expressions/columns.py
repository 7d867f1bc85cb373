"""The columns that an expression may name, and what was probably meant by one that is not there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from headrace.contract import METADATA_FIELD
from headrace.problems import did_you_mean
from headrace.schema.model import Array, Many, Map, Record, Type

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

# The step of `a[0]` and `m['k']`.
ITEM = "[]"


@dataclass(frozen=True, slots=True)
class KnownColumn:
    """A column that is there. `type` is None where the schema does not say."""

    type: Type | None


@dataclass(frozen=True, slots=True)
class UnknownColumn:
    """A column that is not there; `part` is the index of the first name that leads nowhere."""

    message: str
    suggestion: str
    part: int


class Columns:
    """The columns of one schema and the metadata struct. A schema of None allows any column."""

    __slots__ = ("_all", "record")

    def __init__(self, record: Record | None) -> None:
        self.record = record
        own = () if record is None else record.fields
        self._all = Record("row", (*own, METADATA_FIELD))

    @property
    def names(self) -> tuple[str, ...] | None:
        """The stream's own columns in order, None where they are not known."""
        return None if self.record is None else tuple(field.name for field in self.record.fields)

    def find(self, parts: Sequence[str]) -> KnownColumn | UnknownColumn:
        """Look up `a.b.c`, without regard to case, through records, arrays and maps."""
        here: Type = self._all
        for number, part in enumerate(parts):
            if part == ITEM:
                if not isinstance(here, Many):
                    return KnownColumn(None)
                here = here.item
                continue
            while isinstance(here, Array):
                here = here.item
            if isinstance(here, Map):
                here = here.item
                continue
            field = here.field(part) if isinstance(here, Record) else None
            if field is None and not number and self.record is None:
                return KnownColumn(None)
            if field is None:
                return self._missing(parts, number, has_fields=isinstance(here, Record))
            here = field.type
        return KnownColumn(here)

    def _missing(self, parts: Sequence[str], number: int, *, has_fields: bool) -> UnknownColumn:
        name = ".".join(parts).replace(f".{ITEM}", ITEM)
        if not has_fields:
            above = ".".join(parts[:number])
            return UnknownColumn(f'unknown column "{name}"', f'"{above}" has no fields', number)
        prefix = "".join(f"{part}." for part in parts[:number] if part != ITEM).casefold()
        known = [one for one in _dotted(self._all, "", 0) if one.casefold().startswith(prefix)]
        return UnknownColumn(f'unknown column "{name}"', did_you_mean(name, known), number)


def _dotted(record: Record, prefix: str, depth: int) -> Iterator[str]:
    """Give the name of every column and every field in it, `a.b.c`."""
    for field in record.fields:
        yield prefix + field.name
        inner: Type = field.type
        while isinstance(inner, Array):
            inner = inner.item
        if isinstance(inner, Record) and depth < 6:
            yield from _dotted(inner, f"{prefix}{field.name}.", depth + 1)
