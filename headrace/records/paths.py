"""A column by its name: `a`, or `a.b` for a field in a record."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from headrace.records.rows import attribute
from headrace.schema.model import Record

if TYPE_CHECKING:
    from headrace.schema.model import Field, Type


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a schema: its name as the schema spells it, and the attributes to its value."""

    name: str
    attributes: tuple[str, ...]
    field: Field


def find_column(schema: Record, name: str) -> Column | None:
    """Return the column, looked up without case; None where it is nowhere, or within a list."""
    names: list[str] = []
    attributes: list[str] = []
    here: Type = schema
    field: Field | None = None
    for part in name.split("."):
        field = here.field(part) if isinstance(here, Record) else None
        if field is None or not isinstance(here, Record):
            return None
        names.append(field.name)
        attributes.append(attribute(here.fields.index(field)))
        here = field.type
    return None if field is None else Column(".".join(names), tuple(attributes), field)
