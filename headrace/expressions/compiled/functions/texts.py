"""Functions of texts and bytes."""

from __future__ import annotations

from typing import Final

from headrace.expressions.compiled.fragment import Fragment, Scope, lift, literal_of, need
from headrace.expressions.compiled.operators.casts import as_kind
from headrace.expressions.compiled.operators.coercion import (
    BYTES,
    DATE,
    INT,
    LONG,
    STRING,
    TIMESTAMP,
)
from headrace.expressions.compiled.runtime import hashes, texts
from headrace.expressions.compiled.syntax import Refused
from headrace.schema.model import Array

_LARGEST_INT: Final = 2**31 - 1
# Up to that many parts, all of them as long as can be, take no more memory than a task has.
_FEW: Final = 8


def concat(scope: Scope, *values: Fragment) -> Fragment:
    """Compile `concat` and ||."""
    if not values:
        return literal_of(scope, "", STRING)
    scope.joined += len(values)
    kind = BYTES if all(one.kind is BYTES for one in values) else STRING
    parts = [as_kind(scope, one, kind, "concat()") for one in values]
    if scope.joined <= _FEW:
        return lift(scope, parts, kind, lambda *x: " + ".join(x))
    if kind is BYTES:
        raise Refused("concat() of so many bytes")
    name = scope.helper(texts.put_together)
    return lift(scope, parts, kind, lambda *x: f"{name}({', '.join(x)})")


def concat_with(scope: Scope, separator: Fragment, *values: Fragment) -> Fragment:
    """Compile `concat_ws` of texts and lists of texts."""
    separator = as_kind(scope, separator, STRING, "concat_ws()")
    parts = []
    for one in values:
        is_list = isinstance(one.kind, Array)
        if is_list and one.kind != Array(STRING, True) and one.kind != Array(STRING, False):
            raise Refused("concat_ws() of a list of other values than texts")
        if one.fails:
            raise Refused("concat_ws() of what may be undefined")
        text = one if is_list else as_kind(scope, one, STRING, "concat_ws()")
        parts.append(f"*({text.source} or ())" if is_list else text.source)
    name = scope.helper(texts.joined)
    listed = "".join(f"{part}, " for part in parts)
    return lift(scope, [separator], STRING, lambda x: f"{name}({x}, ({listed}))")


def substring(
    scope: Scope, value: Fragment, start: Fragment, size: Fragment | None = None
) -> Fragment:
    """Compile `substring`."""
    kind = BYTES if value.kind is BYTES else STRING
    value = as_kind(scope, value, kind, "substring()")
    start = as_kind(scope, start, INT, "substring()")
    size = as_kind(scope, size or literal_of(scope, _LARGEST_INT, INT), INT, "substring()")
    if start.is_literal and size.is_literal and start.literal >= 0:
        first = max(start.literal - 1, 0)
        until = max(first + size.literal, first)
        return lift(scope, [value], kind, lambda x: f"{x}[{first}:{until}]")
    name = scope.helper(texts.part)
    return lift(scope, [value, start, size], kind, lambda x, a, n: f"{name}({x}, {a}, {n})")


def chosen(scope: Scope, position: Fragment, *values: Fragment) -> Fragment:
    """Compile `elt`."""
    listed = [as_kind(scope, one, STRING, "elt()") for one in values]
    if not listed or any(one.fails for one in listed):
        raise Refused("elt() of what may be undefined")
    items = "".join(f"{one.source}, " for one in listed)
    function = scope.helper(texts.chosen)
    number = as_kind(scope, position, INT, "elt()")
    build = f"{function}({{}}, ({items}))".format
    return lift(scope, [number], STRING, build, fails=True, nullable=True)


def hashed(name: str, scope: Scope, *values: Fragment) -> Fragment:
    """Compile `hash` and `xxhash64` of texts, bytes, whole numbers, dates and timestamps."""
    parts = []
    for one in values:
        need(one, [STRING, BYTES, INT, LONG, DATE, TIMESTAMP], f"{name}()")
        if one.kind in {LONG, TIMESTAMP}:
            first, again = scope.bound(one.source)
            parts.append(f"(None if {first} is None else ({again},))")
        else:
            parts.append(one.source)
    function = scope.helper(hashes.murmur if name == "hash" else hashes.xxhash)
    fails = any(one.fails for one in values)
    kind = INT if name == "hash" else LONG
    return Fragment(f"{function}({', '.join(parts)})", kind, nullable=False, fails=fails)
