"""Avro's names of types, and the shapes that its JSON may have."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeGuard

from headrace.schema.model import Primitive

if TYPE_CHECKING:
    from collections.abc import Mapping

PRIMITIVES: Final[Mapping[str, Primitive]] = {
    name: Primitive(name)
    for name in ("boolean", "int", "long", "float", "double", "bytes", "string")
}

# Where an annotation is not on its own underlying type, Avro says to ignore it.
LOGICAL: Final[Mapping[Primitive, Primitive]] = {
    Primitive.DATE: Primitive.INT,
    Primitive.TIME_MILLIS: Primitive.INT,
    Primitive.TIME_MICROS: Primitive.LONG,
    Primitive.TIMESTAMP_MILLIS: Primitive.LONG,
    Primitive.TIMESTAMP_MICROS: Primitive.LONG,
    Primitive.LOCAL_TIMESTAMP_MILLIS: Primitive.LONG,
    Primitive.LOCAL_TIMESTAMP_MICROS: Primitive.LONG,
    Primitive.UUID: Primitive.STRING,
}
LOGICAL_ON: Final = {
    (underlying.value, logical.value): logical for logical, underlying in LOGICAL.items()
}

REFUSED_LOGICAL: Final = {
    ("fixed", "duration"): "duration, a mix of months, days and milliseconds,",
    ("bytes", "big-decimal"): "big-decimal, where every value has its own scale,",
    ("long", "timestamp-nanos"): "timestamp-nanos (microseconds are the finest)",
    ("long", "local-timestamp-nanos"): "local-timestamp-nanos (microseconds are the finest)",
}
COMPLEX: Final = ("record", "enum", "array", "map", "fixed")


def full_name(name: str, namespace: str) -> str:
    """Return a name with the namespace that it is in, unless it has its own."""
    return name if "." in name or not namespace else f"{namespace}.{name}"


def is_object(obj: object) -> TypeGuard[Mapping[str, object]]:
    """Say whether that is a JSON object."""
    return isinstance(obj, dict)


def is_texts(obj: object) -> TypeGuard[list[str]]:
    """Say whether that is a list of strings."""
    return isinstance(obj, list) and all(isinstance(item, str) for item in obj)


def is_integer(obj: object) -> TypeGuard[int]:
    """Say whether that is a whole number; JSON's true and false are none."""
    return isinstance(obj, int) and not isinstance(obj, bool)


def is_null(obj: object) -> bool:
    """Say whether that is the type of nothing."""
    return obj == "null" or (is_object(obj) and obj.get("type") == "null")


def text(obj: object) -> str | None:
    """Return a string, and None for whatever else stands there."""
    return obj if isinstance(obj, str) else None


def kind_of(obj: object) -> str:
    """Return what a user would call that type."""
    if isinstance(obj, list):
        return "a union"
    if is_object(obj):
        return kind_of(obj.get("type"))
    return obj if isinstance(obj, str) else repr(obj)
