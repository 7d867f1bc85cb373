"""Whether the values of one type can be written where another is expected."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from headrace.schema.model import (
    INSTANTS,
    TIMESTAMPS,
    WALL_CLOCKS,
    Decimal,
    Enumeration,
    Fixed,
    Many,
    Primitive,
    Record,
)

if TYPE_CHECKING:
    from collections.abc import Collection

    from headrace.schema.model import Field, Type

_INTEGERS: Final = {Primitive.INT, Primitive.LONG}
_FLOATS: Final = {Primitive.FLOAT, Primitive.DOUBLE}
_TIMES_OF_DAY: Final = {Primitive.TIME_MILLIS, Primitive.TIME_MICROS}
_WIDER: Final = {
    Primitive.INT: _INTEGERS | _FLOATS,
    Primitive.LONG: {Primitive.LONG} | _FLOATS,
    Primitive.FLOAT: _FLOATS,
    # Finer than the target's unit is cut off, and nothing else is lost.
    **dict.fromkeys(INSTANTS, INSTANTS),
    **dict.fromkeys(WALL_CLOCKS, WALL_CLOCKS),
}


def fits(source: Type, target: Type, *, as_json: bool) -> bool:
    """Whether some value of `source` can stand for one of `target`.

    As JSON a text may stand for whatever is written as one, and a number for a point in time.
    """
    if source == target:
        return True
    match source, target:
        case Many(), Many() if type(source) is type(target):
            return fits(source.item, target.item, as_json=as_json)
        case Record(), Record():
            names = [field.name for field in source.fields]
            return not missing(names, target) and all(
                fits(field.type, other.type, as_json=as_json)
                for field in source.fields
                if (other := target.field(field.name)) is not None
            )
        case Decimal(), Decimal():
            whole = target.precision - target.scale >= source.precision - source.scale
            return whole and target.scale >= source.scale
    return _leaf_fits(source, target) or (as_json and _fits_as_json(source, target))


def partners(names: Collection[str], record: Record) -> dict[str, Field]:
    """Return which field of the record each name means: the field of that name, or of that alias."""
    found = {field.name: field for field in record.fields if field.name in names}
    for field in record.fields:
        if field.name not in names:
            old = next((one for one in field.aliases if one in names and one not in found), None)
            if old is not None:
                found[old] = field
    return found


def missing(names: Collection[str], target: Record) -> list[str]:
    """Return the fields of `target` that are not among the names, and that nothing fills in."""
    return [
        field.name
        for field in target.fields
        if field.name not in names and not field.nullable and field.default is None
    ]


def type_word(kind: Type) -> str:
    """Return what people call a type: `string`, `decimal(10, 2)`, `array`."""
    match kind:
        case Primitive():
            return kind.value
        case Decimal():
            return f"decimal({kind.precision}, {kind.scale})"
        case Enumeration():
            return "enum"
        case _:
            return type(kind).__name__.lower()


def _leaf_fits(source: Type, target: Type) -> bool:
    if _is_text(source):
        return _is_text(target)
    if _is_bytes(source):
        return _is_bytes(target)
    if isinstance(source, Primitive) and isinstance(target, Primitive):
        return target in _WIDER.get(source, ())
    return isinstance(target, Decimal) and source in _INTEGERS


def _fits_as_json(source: Type, target: Type) -> bool:
    if _is_text(source):
        return _is_bytes(target) or isinstance(target, Decimal) or _is_time(target)
    if source in _INTEGERS:
        return _is_time(target)
    return isinstance(source, Decimal) and target in _FLOATS


def _is_text(kind: Type) -> bool:
    return isinstance(kind, Enumeration) or kind in {Primitive.STRING, Primitive.UUID}


def _is_bytes(kind: Type) -> bool:
    return isinstance(kind, Fixed) or kind is Primitive.BYTES


def _is_time(kind: Type) -> bool:
    return kind in TIMESTAMPS | _TIMES_OF_DAY | {Primitive.DATE}
