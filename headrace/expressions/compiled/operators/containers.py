"""Fields of records, items of lists and values of maps."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.expressions.lane import run_containers
from headrace.expressions.lane.casts import as_kind
from headrace.expressions.lane.coerce import BOOLEAN, INT, LONG, STRING, WHOLE, alike
from headrace.expressions.lane.nodes import Refused
from headrace.expressions.lane.value import Value, lift, name_of, need
from headrace.records.rows import attribute
from headrace.schema.model import Array, Map, Record

if TYPE_CHECKING:
    from headrace.expressions.lane.value import Scope
    from headrace.schema.model import Field


def number_of(record: Record, name: str) -> int:
    """Return which field a name means, as Spark looks for it: without case, and only one."""
    folded = name.lower()
    found = [n for n, field in enumerate(record.fields) if field.name.lower() == folded]
    if len(found) != 1 or (record.fields[found[0]].name != name and not name.isascii()):
        raise Refused(f'the column "{name}"')
    return found[0]


def field(scope: Scope, value: Value, name: str) -> Value:
    """Compile `.name`."""
    kind = value.kind
    if isinstance(kind, Map):
        return _of_map(scope, value, kind, repr(name))
    if not isinstance(kind, Record):
        raise Refused(f'".{name}" of {name_of(kind)}')
    number = number_of(kind, name)
    found: Field = kind.fields[number]
    if not value.nullable:
        source = f"{value.source}.{attribute(number)}"
        return Value(source, found.type, found.nullable, value.fails)
    return lift(
        scope, [value], found.type, lambda x: f"{x}.{attribute(number)}", nullable=found.nullable
    )


def item(scope: Scope, value: Value, index: Value) -> Value:
    """Compile `[…]`: undefined behind the end of a list, null for a key that is not there."""
    kind = value.kind
    if isinstance(kind, Map):
        key = need(index, [STRING], "a key")
        return _of_map_by(scope, value, kind, key)
    if not isinstance(kind, Array):
        raise Refused(f"an item of {name_of(kind)}")
    name = scope.helper(run_containers.item)
    return _of_list(scope, value, index, name, fails=True)


def get(scope: Scope, value: Value, index: Value) -> Value:
    """Compile `get`, which is null outside of the list."""
    if not isinstance(value.kind, Array):
        raise Refused(f"get() of {name_of(value.kind)}")
    name = scope.helper(run_containers.item_or_null)
    return _of_list(scope, value, index, name, fails=False)


def element_at(scope: Scope, value: Value, index: Value) -> Value:
    """Compile `element_at`, which counts from 1, or from the end below 0."""
    kind = value.kind
    if isinstance(kind, Map):
        return _of_map_by(scope, value, kind, need(index, [STRING], "a key"))
    if not isinstance(kind, Array):
        raise Refused(f"element_at() of {name_of(kind)}")
    if index.literal == -(2**31):
        raise Refused("element_at() of what Spark has no room to count from the end")
    name = scope.helper(run_containers.element)
    return _of_list(scope, value, need(index, [INT], "element_at()"), name, fails=True)


def _of_list(scope: Scope, value: Value, index: Value, name: str, *, fails: bool) -> Value:
    kind = value.kind
    if not isinstance(kind, Array):
        raise Refused(f"an item of {name_of(kind)}")
    need(index, WHOLE, "an index")
    if fails and index.nullable and not kind.item_nullable:
        # Spark's plan says that there is an item, and reads whatever lies at the place.
        raise Refused("an index that may be null")
    nullable = kind.item_nullable or not fails
    build = f"{name}({{}}, {{}})".format
    # Spark promises nothing about an index that it knows.
    declared = index.is_literal
    return lift(
        scope, [value, index], kind.item, build, nullable=nullable, fails=fails, declared=declared
    )


def _of_map(scope: Scope, value: Value, kind: Map, key: str) -> Value:
    return lift(scope, [value], kind.value, lambda x: f"{x}.get({key})", nullable=True)


def _of_map_by(scope: Scope, value: Value, kind: Map, key: Value) -> Value:
    return lift(scope, [value, key], kind.value, lambda x, y: f"{x}.get({y})", nullable=True)


def size(scope: Scope, value: Value) -> Value:
    """Compile `size` and `cardinality`."""
    if not isinstance(value.kind, Array | Map):
        raise Refused(f"size() of {name_of(value.kind)}")
    return lift(scope, [value], INT, lambda x: f"len({x})")


def list_size(scope: Scope, value: Value) -> Value:
    """Compile `array_size`."""
    if not isinstance(value.kind, Array):
        raise Refused(f"array_size() of {name_of(value.kind)}")
    return lift(scope, [value], INT, lambda x: f"len({x})")


def has_key(scope: Scope, value: Value, key: Value) -> Value:
    """Compile `map_contains_key`."""
    if not isinstance(value.kind, Map):
        raise Refused(f"map_contains_key() of {name_of(value.kind)}")
    values = [value, need(key, [STRING], "a key")]
    return lift(scope, values, BOOLEAN, lambda x, y: f"{y} in {x}", declared=True)


def try_element_at(scope: Scope, value: Value, index: Value) -> Value:
    """Compile `try_element_at`, which is null where there is no element."""
    if isinstance(value.kind, Map):
        return element_at(scope, value, index)
    if index.literal == -(2**31):
        raise Refused("try_element_at() of what Spark has no room to count from the end")
    name = scope.helper(run_containers.element_or_null)
    return _of_list(scope, value, need(index, [INT], "try_element_at()"), name, fails=False)


def contains(scope: Scope, value: Value, wanted: Value) -> Value:
    """Compile `array_contains` of whole numbers, texts and booleans."""
    kind = value.kind
    if not isinstance(kind, Array):
        raise Refused(f"array_contains() of {name_of(kind)}")
    one = Value("None", kind.item, nullable=True)
    if one.kind is not wanted.kind or one.kind not in {STRING, BOOLEAN, *WHOLE}:
        raise Refused(f"array_contains() of {name_of(one.kind)} and {name_of(wanted.kind)}")
    if not kind.item_nullable:
        return lift(scope, [value, wanted], BOOLEAN, lambda x, y: f"{y} in {x}")
    name = scope.helper(run_containers.contains)
    build = f"{name}({{}}, {{}})".format
    return lift(scope, [value, wanted], BOOLEAN, build, nullable=True)


def array(scope: Scope, *values: Value) -> Value:
    """Compile `array`."""
    items, kind = alike(scope, values, "array()")
    if kind is None:
        raise Refused("array() of nothing")
    listed = ", ".join(one.source for one in items)
    nullable = any(one.is_optional for one in items)
    fails = any(one.fails for one in items)
    return Value(f"[{listed}]", Array(kind, nullable), nullable=False, fails=fails)


def _list(value: Value, what: str, *kinds: object) -> tuple[Array, Value]:
    """Return a list's type, and an item of it."""
    if not isinstance(value.kind, Array):
        raise Refused(f"{what} of {name_of(value.kind)}")
    item = Value("None", value.kind.item, nullable=True)
    if kinds and item.kind not in kinds:
        raise Refused(f"{what} of items of {name_of(item.kind)}")
    return value.kind, item


def position(scope: Scope, value: Value, wanted: Value) -> Value:
    """Compile `array_position`."""
    _, item = _list(value, "array_position()", STRING, BOOLEAN, *WHOLE)
    if item.kind is not wanted.kind:
        raise Refused("array_position() of another type than the items'")
    name = scope.helper(run_containers.place_of_item)
    return lift(scope, [value, wanted], LONG, lambda x, y: f"{name}({x}, {y})")


def joined(scope: Scope, value: Value, separator: Value, null: Value | None = None) -> Value:
    """Compile `array_join` of texts."""
    _list(value, "array_join()", STRING)
    texts = [as_kind(scope, one, STRING, "array_join()") for one in (separator, null) if one]
    name = scope.helper(run_containers.joined)
    return lift(scope, [value, *texts], STRING, lambda *x: f"{name}({', '.join(x)})")


def compact(scope: Scope, value: Value) -> Value:
    """Compile `array_compact`."""
    kind, _ = _list(value, "array_compact()")
    source = "[x for x in {} if x is not None]".format
    return lift(scope, [value], Array(kind.item, item_nullable=False), source)


def added(side: str, scope: Scope, value: Value, item: Value) -> Value:
    """Compile `array_append` and `array_prepend`, which take null for an item too."""
    kind, inner = _list(value, f"array_{side}()")
    if item.kind not in {inner.kind, None} or item.fails:
        raise Refused(f"array_{side}() of another type than the items'")
    type_ = Array(kind.item, item_nullable=True)
    if side == "append":
        return lift(scope, [value], type_, lambda x: f"[*{x}, {item.source}]")
    return lift(scope, [value], type_, lambda x: f"[{item.source}, *{x}]")


def distinct(scope: Scope, value: Value) -> Value:
    """Compile `array_distinct`."""
    kind, _ = _list(value, "array_distinct()", STRING, BOOLEAN, *WHOLE)
    return lift(scope, [value], kind, lambda x: f"[*{{x: None for x in {x}}}]")


def map_keys(scope: Scope, value: Value) -> Value:
    """Compile `map_keys`."""
    if not isinstance(value.kind, Map):
        raise Refused(f"map_keys() of {name_of(value.kind)}")
    return lift(scope, [value], Array(STRING, item_nullable=True), lambda x: f"[*{x}]")


def map_values(scope: Scope, value: Value) -> Value:
    """Compile `map_values`."""
    if not isinstance(value.kind, Map):
        raise Refused(f"map_values() of {name_of(value.kind)}")
    type_ = Array(value.kind.value, item_nullable=True)
    return lift(scope, [value], type_, lambda x: f"[*{x}.values()]")
