"""Annotations: what a schema was in Avro. They count where they fit the types that are there.

A carried schema is read twice: `found` is what the other system's own types say, `said` what the
annotation claims. What the other system can say is taken from it, nullability included. The
annotation adds only what it cannot, and only where its type would have been carried as the type
that was found: a column that was widened, replaced or made by someone else is what it is.
"""

from __future__ import annotations

import itertools
import json
import re
from dataclasses import replace
from typing import TYPE_CHECKING, Final, TypeAlias

from headrace.schema.avro import stored_avro, to_avro
from headrace.schema.avro_words import PRIMITIVES
from headrace.schema.model import Decimal, Enumeration, Field, Fixed, Many, Primitive, Record
from headrace.schema.rules import SchemaRefused, named_type

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from headrace.schema.model import Array, Map, Type

    Bare: TypeAlias = Primitive | Fixed | Decimal | Array | Map | Record
    Carried: TypeAlias = Callable[[Type], Bare]

# The key in the metadata of a Spark column. Its value is the JSON of an Avro record
# with that one field: it carries the record's name, for which the schema has no field.
ANNOTATION: Final = "headrace.avro"

# The name of a record that no annotation names.
ROW: Final = "row"

# The property of an Iceberg table. Its value is the JSON of the whole Avro record.
PROPERTY: Final = "headrace.avro-schema"

_CARRIED: Final[Mapping[Primitive, Primitive]] = {
    Primitive.UUID: Primitive.STRING,
    Primitive.TIME_MILLIS: Primitive.INT,
    Primitive.TIME_MICROS: Primitive.LONG,
    Primitive.TIMESTAMP_MILLIS: Primitive.TIMESTAMP_MICROS,
    Primitive.LOCAL_TIMESTAMP_MILLIS: Primitive.LOCAL_TIMESTAMP_MICROS,
}


def carried(node: Type) -> Bare:
    """Return what is left of a type in Arrow and Iceberg without its annotation."""
    if isinstance(node, Primitive):
        return _CARRIED.get(node, node)
    if isinstance(node, Enumeration):
        return Primitive.STRING
    if isinstance(node, Decimal):
        return replace(node, fixed=None)
    return unnamed_fixed(node.size) if isinstance(node, Fixed) else node


def unnamed_fixed(size: int) -> Fixed:
    """Return the fixed of a system whose types have no names."""
    return Fixed(f"fixed_{size}", size)


def inferred_name(column: str) -> str:
    """Return a name for the record in a column of a system whose types have no names."""
    name = re.sub(r"\W", "_", column, flags=re.ASCII)
    return f"{name}_" if name in PRIMITIVES or not re.match("[A-Za-z_]", name) else name


def annotation(record: Record, field: Field) -> str:
    """Return the annotation of one column of a record."""
    return json.dumps(to_avro(replace(record, fields=(field,))))


def said_in(text: str | None, where: str) -> Record | None:
    """Return the schema that an annotation holds; none, or a damaged one, says nothing."""
    try:
        return None if text is None else stored_avro(text, where)
    except SchemaRefused:
        return None


def annotated(columns: Iterable[tuple[str, str | None]]) -> Record:
    """Return what the annotations of columns say together, under their name if they agree on it."""
    fields: list[Field] = []
    origins: set[Record] = set()
    for column, text in columns:
        said = said_in(text, ANNOTATION)
        if said is not None and len(said.fields) == 1:
            fields.append(replace(said.fields[0], name=column))
            origins.add(replace(said, fields=()))
    origin = origins.pop() if len(origins) == 1 else Record(ROW, ())
    return replace(origin, fields=tuple(fields))


def recall(found: Record, said: Record, carried: Carried) -> Record:
    """Return `found`, with what `said` adds to it; `carried` is the other system's."""
    return _apart(_recalled(found, said, carried))


def _recalled(found: Record, said: Record, carried: Carried) -> Record:
    known = {field.name: field for field in said.fields}
    fields = (_recalled_field(one, known.get(one.name), carried) for one in found.fields)
    return replace(said, fields=tuple(fields))


def _recalled_field(found: Field, said: Field | None, carried: Carried) -> Field:
    if said is None:
        return replace(found, type=_recalled_type(found.type, None, carried))
    type_ = _recalled_type(found.type, said.type, carried)
    default = said.default if type_ == said.type else None
    if not found.nullable and default == "null":
        default = None
    return Field(
        found.name,
        type_,
        found.nullable,
        doc=said.doc if found.doc is None else found.doc,
        default=default,
        aliases=said.aliases,
        # A default belongs to the first type of a union.
        null_last=found.nullable and (said.null_last if said.nullable else default is not None),
    )


def _recalled_type(found: Type, said: Type | None, carried: Carried) -> Type:
    if isinstance(found, Record):
        own = said if isinstance(said, Record) else replace(found, fields=())
        return _recalled(found, own, carried)
    if isinstance(found, Many):
        if not isinstance(said, type(found)):
            return replace(found, item=_recalled_type(found.item, None, carried))
        item = _recalled_type(found.item, said.item, carried)
        null_last = found.item_nullable and said.item_null_last
        return replace(found, item=item, item_null_last=null_last)
    return found if said is None or carried(said) != found else said


def _apart(top: Record) -> Record:
    """Rename types: a name of two types stays with the first, and the others get numbers."""
    taken: dict[str, Type] = {top.name: top}

    def fields_of(record: Record) -> Record:
        fields = tuple(replace(field, type=settled(field.type)) for field in record.fields)
        return replace(record, fields=fields)

    def settled(node: Type) -> Type:
        if isinstance(node, Many):
            return replace(node, item=settled(node.item))
        inner = fields_of(node) if isinstance(node, Record) else node
        names = named_type(inner)
        if names is None:
            return inner
        name, _ = names
        candidates = itertools.chain([name], (f"{name}_{n}" for n in itertools.count(2)))
        renamed = ((candidate, _renamed(inner, candidate)) for candidate in candidates)
        return next(node for own, node in renamed if taken.setdefault(own, node) == node)

    return fields_of(top)


def _renamed(node: Type, name: str) -> Type:
    if isinstance(node, Decimal) and node.fixed:
        return replace(node, fixed=replace(node.fixed, name=name))
    return replace(node, name=name) if isinstance(node, Record | Enumeration | Fixed) else node
