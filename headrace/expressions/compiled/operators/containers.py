"""Fields of records, items of lists and values of maps."""

from __future__ import annotations

from typing import Final

from headrace.expressions.compiled.fragment import Fragment, Scope, lift, need
from headrace.expressions.compiled.operators.coercion import (
    BOOLEAN,
    INT,
    LONG,
    STRING,
    WHOLE,
    alike,
)
from headrace.expressions.compiled.runtime import lists
from headrace.expressions.compiled.syntax import Refused
from headrace.records.rows import attribute
from headrace.schema.model import Array, Map, Record


def number_of(record: Record, name: str) -> int:
    """Return which field a name means, as Spark looks for it: without case, and only one."""
    folded = name.lower()
    found = [n for n, field in enumerate(record.fields) if field.name.lower() == folded]
    if len(found) != 1 or (record.fields[found[0]].name != name and not name.isascii()):
        raise Refused(f'the column "{name}"')
    return found[0]


def field(scope: Scope, value: Fragment, name: str) -> Fragment:
    """Compile `.name`."""
    kind = value.kind
    if isinstance(kind, Map):
        return lift(scope, [value], kind.item, lambda x: f"{x}.get({name!r})", nullable=True)
    if not isinstance(kind, Record):
        raise Refused(f'".{name}" of {value.kind_name}')
    number = number_of(kind, name)
    found = kind.fields[number]
    if not value.nullable:
        source = f"{value.source}.{attribute(number)}"
        return Fragment(source, found.type, found.nullable, value.fails)
    build = f"{{}}.{attribute(number)}".format
    return lift(scope, [value], found.type, build, nullable=found.nullable)


# What reads an item of a list, and whether it is undefined, not null, where there is none.
_READERS: Final = {
    "[]": (lists.item, True),
    "get()": (lists.item_or_null, False),
    "element_at()": (lists.element, True),
    "try_element_at()": (lists.element_or_null, False),
}


def item(what: str, scope: Scope, value: Fragment, index: Fragment) -> Fragment:
    """Compile what reads an item by its index, or a value of a map by its key."""
    kind = value.kind
    if isinstance(kind, Map) and what != "get()":
        values = [value, need(index, [STRING], "a key")]
        return lift(scope, values, kind.item, lambda x, y: f"{x}.get({y})", nullable=True)
    if not isinstance(kind, Array):
        raise Refused(f"{what} of {value.kind_name}")
    counts_from_1 = what.endswith("element_at()")
    if counts_from_1 and index.literal == -(2**31):
        raise Refused(f"{what} of what Spark has no room to count from the end")
    need(index, [INT] if counts_from_1 else WHOLE, "an index")
    function, fails = _READERS[what]
    if fails and index.nullable and not kind.item_nullable:
        # Spark's plan says that there is an item, and reads whatever lies there.
        raise Refused("an index that may be null")
    nullable = kind.item_nullable or not fails
    build = f"{scope.helper(function)}({{}}, {{}})".format
    # Spark promises nothing about an index that it knows.
    declared = index.is_literal
    return lift(
        scope, [value, index], kind.item, build, nullable=nullable, fails=fails, declared=declared
    )


def _list(value: Fragment, what: str, *kinds: object) -> tuple[Array, Fragment]:
    """Return a list's type, and an item of it."""
    if not isinstance(value.kind, Array):
        raise Refused(f"{what} of {value.kind_name}")
    item = Fragment("None", value.kind.item, nullable=True)
    if kinds and item.kind not in kinds:
        raise Refused(f"{what} of items of {item.kind_name}")
    return value.kind, item


def contains(scope: Scope, value: Fragment, wanted: Fragment) -> Fragment:
    """Compile `array_contains` of whole numbers, texts and booleans."""
    kind, one = _list(value, "array_contains()", STRING, BOOLEAN, *WHOLE)
    if one.kind is not wanted.kind:
        raise Refused("array_contains() of another type than the items'")
    if not kind.item_nullable:
        return lift(scope, [value, wanted], BOOLEAN, lambda x, y: f"{y} in {x}")
    build = f"{scope.helper(lists.contains)}({{}}, {{}})".format
    return lift(scope, [value, wanted], BOOLEAN, build, nullable=True)


def array(scope: Scope, *values: Fragment) -> Fragment:
    """Compile `array`."""
    items, kind = alike(scope, values, "array()")
    if kind is None:
        raise Refused("array() of nothing")
    listed = ", ".join(one.source for one in items)
    nullable = any(one.is_optional for one in items)
    fails = any(one.fails for one in items)
    return Fragment(f"[{listed}]", Array(kind, nullable), nullable=False, fails=fails)


def position(scope: Scope, value: Fragment, wanted: Fragment) -> Fragment:
    """Compile `array_position`."""
    _, item = _list(value, "array_position()", STRING, BOOLEAN, *WHOLE)
    if item.kind is not wanted.kind:
        raise Refused("array_position() of another type than the items'")
    name = scope.helper(lists.position_of_item)
    return lift(scope, [value, wanted], LONG, lambda x, y: f"{name}({x}, {y})")


def added(side: str, scope: Scope, value: Fragment, item: Fragment) -> Fragment:
    """Compile `array_append` and `array_prepend`, which take null for an item too."""
    kind, inner = _list(value, f"array_{side}()")
    if item.kind not in {inner.kind, None} or item.fails:
        raise Refused(f"array_{side}() of another type than the items'")
    type_ = Array(kind.item, item_nullable=True)
    if side == "append":
        return lift(scope, [value], type_, lambda x: f"[*{x}, {item.source}]")
    return lift(scope, [value], type_, lambda x: f"[{item.source}, *{x}]")
