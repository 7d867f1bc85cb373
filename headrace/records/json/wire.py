"""The types of JSON that belong to a schema; msgspec checks them while it decodes."""

from __future__ import annotations

from types import GenericAlias
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal

import msgspec
from msgspec import Meta

from headrace.records.json.conversions import form_of
from headrace.records.rows import attribute
from headrace.schema.model import Array, Enumeration, Fixed, Map, Primitive, Record

if TYPE_CHECKING:
    from collections.abc import Collection

    from headrace.schema.model import Field, Type

# Types as values: a checker cannot follow them.
Wire = Any

INT: Final[Wire] = Annotated[int, Meta(ge=-(2**31), le=2**31 - 1)]
LONG: Final[Wire] = Annotated[int, Meta(ge=-(2**63), le=2**63 - 1)]
_PLAIN: Final[dict[Type, Wire]] = {
    Primitive.BOOLEAN: bool,
    Primitive.INT: INT,
    Primitive.LONG: LONG,
    # JSON has no word for what is no number: it comes as text, as Spark and we write it.
    Primitive.FLOAT: float | str,
    Primitive.DOUBLE: float | str,
    Primitive.BYTES: bytes,
    Primitive.STRING: str,
    Primitive.UUID: str,
}


def wire_class(
    record: Record, coerced: Collection[str] = (), *, refuses_unknown: bool = False, at: str = ""
) -> type[msgspec.Struct]:
    """Return the class that a JSON object of that schema is decoded to.

    What is not there and has a default, or an old name, is UNSET until `fixes` are done.
    `coerced` are the paths of the columns whose other forms are to be converted afterwards.
    """
    fields: list[Any] = []
    names = {attribute(number): field.name for number, field in enumerate(record.fields)}
    olds = old_names(record)
    for number, field in enumerate(record.fields):
        path = f"{at}{field.name}"
        if isinstance(field.type, Record):
            wire: Wire = wire_class(
                field.type, coerced, refuses_unknown=refuses_unknown, at=f"{path}."
            )
        else:
            wire = wire_type(field.type, refuses_unknown, convertible=path in coerced)
        if may_be_absent(field):
            wire = wire | None
        if may_be_unset(field, olds.get(number)):
            fields.append((attribute(number), wire, msgspec.UNSET))
        elif field.nullable:
            fields.append((attribute(number), wire, None))
        else:
            fields.append((attribute(number), wire))
        for old, name in olds.get(number, {}).items():
            fields.append((old, wire, msgspec.UNSET))
            names[old] = name
    return msgspec.defstruct(
        "Row", fields, rename=names, kw_only=True, gc=False, forbid_unknown_fields=refuses_unknown
    )


def wire_type(kind: Type, refuses_unknown: bool = False, *, convertible: bool = False) -> Wire:
    """Return the type of one value."""
    form = form_of(kind, convertible=convertible)
    if form is not None:
        return form
    match kind:
        case Record():
            return wire_class(kind, refuses_unknown=refuses_unknown)
        case Array():
            item = wire_type(kind.item, refuses_unknown)
            return GenericAlias(list, (item | None if kind.item_nullable else item,))
        case Map():
            value = wire_type(kind.item, refuses_unknown)
            return GenericAlias(dict, (str, value | None if kind.item_nullable else value))
        case Enumeration():
            return Literal[kind.symbols]
        case Fixed():
            return bytes
        case _:
            # Points in time come as text or as a number alike.
            return _PLAIN.get(kind, int | str)


def may_be_absent(field: Field) -> bool:
    """Whether a record may lack the field, or hold null."""
    return field.nullable or field.default is not None


def may_be_unset(field: Field, olds: Collection[str] | None) -> bool:
    """Whether a field that is absent differs from one that is null."""
    return bool(olds) or field.default not in {None, "null"}


def old_names(record: Record) -> dict[int, dict[str, str]]:
    """Return under which attributes the values of fields arrive that still have an old name.

    By the number of the field: the attribute, and the alias that it stands for. As in Avro, a
    name that a field has now is nobody's old one.
    """
    taken = {field.name for field in record.fields}
    found: dict[int, dict[str, str]] = {}
    for number, field in enumerate(record.fields):
        for alias in field.aliases:
            if alias not in taken:
                taken.add(alias)
                own = found.setdefault(number, {})
                own[f"{attribute(number)}_{len(own)}"] = alias
    return found
