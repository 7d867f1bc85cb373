"""Functions of texts and bytes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from headrace.expressions.lane import run_hash, run_texts
from headrace.expressions.lane.casts import as_bytes, as_kind
from headrace.expressions.lane.coerce import (
    BYTES,
    DATE,
    INT,
    LONG,
    STRING,
    TIMESTAMP,
    WHOLE,
)
from headrace.expressions.lane.nodes import Refused
from headrace.expressions.lane.value import Value, declare, lift, literal_of, need
from headrace.schema.model import Array

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from headrace.expressions.lane.value import Scope

_LARGEST_INT: Final = 2**31 - 1
_TRIMS: Final = {
    "strip": run_texts.stripped,
    "lstrip": run_texts.trimmed_left,
    "rstrip": run_texts.trimmed_right,
}
# Up to that many parts, all of them as long as can be, take no more memory than a task has.
_FEW: Final = 8
_SUMS: Final = {
    0: run_texts.sha256,
    224: run_texts.sha224,
    256: run_texts.sha256,
    384: run_texts.sha384,
    512: run_texts.sha512,
}


def trim(method: str, scope: Scope, text: Value, of: Value | None = None) -> Value:
    """Compile the trims, which are told what to take off before what to take it from."""
    return trim_of(method, scope, text) if of is None else trim_of(method, scope, of, text)


def trim_of(method: str, scope: Scope, text: Value, signs: Value | None = None) -> Value:
    """Compile the trims by Python's method of the same work: what is taken off is one set."""
    text = as_kind(scope, text, STRING, "trim()")
    if signs is None:
        return lift(scope, [text], STRING, lambda x: f"{x}.{method}(' ')")
    values = [text, as_kind(scope, signs, STRING, "trim()")]
    if signs.is_literal:
        return lift(scope, values, STRING, lambda x, y: f"{x}.{method}({y})")
    return _called(scope, _TRIMS[method], values)


def length(scope: Scope, value: Value) -> Value:
    """Compile `length`."""
    if value.kind is not BYTES:
        value = as_kind(scope, value, STRING, "length()")
    return lift(scope, [value], INT, lambda x: f"len({x})")


def octets(each: int, scope: Scope, value: Value) -> Value:
    """Compile `octet_length` and `bit_length`."""
    if value.kind is not BYTES:
        value = as_kind(scope, value, STRING, "octet_length()")
    times = "" if each == 1 else f" * {each}"
    if value.kind is BYTES:
        return lift(scope, [value], INT, lambda x: f"len({x}){times}")
    return lift(scope, [value], INT, lambda x: f"len({x}.encode()){times}")


def concat(scope: Scope, *values: Value) -> Value:
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
    return _called(scope, run_texts.put_together, parts)


def concat_with(scope: Scope, separator: Value, *values: Value) -> Value:
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
    name = scope.helper(run_texts.joined)
    listed = "".join(f"{part}, " for part in parts)
    return lift(scope, [separator], STRING, lambda x: f"{name}({x}, ({listed}))")


def substring(scope: Scope, value: Value, start: Value, size: Value | None = None) -> Value:
    """Compile `substring`."""
    kind = BYTES if value.kind is BYTES else STRING
    value = as_kind(scope, value, kind, "substring()")
    start = as_kind(scope, start, INT, "substring()")
    size = None if size is None else as_kind(scope, size, INT, "substring()")
    numbers = [one for one in (start, size) if one is not None]
    known = all(one.is_literal for one in numbers)
    if known and start.literal >= 0:
        first = max(start.literal - 1, 0)
        length = _LARGEST_INT if size is None else size.literal
        until = "" if size is None else str(max(first + length, first))
        return lift(scope, [value], kind, lambda x: f"{x}[{first}:{until}]")
    function = run_texts.part if kind is STRING else run_texts.bytes_part
    name = scope.helper(function)
    if size is None:
        return lift(scope, [value, start], kind, lambda x, a: f"{name}({x}, {a}, {_LARGEST_INT})")
    return lift(scope, [value, start, size], kind, lambda x, a, n: f"{name}({x}, {a}, {n})")


def locate(scope: Scope, part: Value, text: Value, start: Value | None = None) -> Value:
    """Compile `locate` and `position`."""
    values = [as_kind(scope, one, STRING, "locate()") for one in (part, text)]
    if start is None:
        return lift(scope, values, INT, lambda y, x: f"{x}.find({y}) + 1")
    if not start.is_literal or start.kind is not INT:
        raise Refused("locate() from a place that is no number")
    name = scope.helper(run_texts.place_of)
    return lift(scope, values, INT, lambda y, x: f"{name}({y}, {x}, {start.source})")


def reverse(scope: Scope, value: Value) -> Value:
    """Compile `reverse` of a text or a list."""
    if isinstance(value.kind, Array) and value.type is not None:
        return lift(scope, [value], value.type, lambda x: f"{x}[::-1]")
    text = as_kind(scope, value, STRING, "reverse()")
    return lift(scope, [text], STRING, lambda x: f"{x}[::-1]")


def hexadecimal(scope: Scope, value: Value) -> Value:
    """Compile `hex`."""
    if value.kind in WHOLE:
        return _called(scope, run_texts.hex_of_whole, [value])
    binary = as_bytes(scope, value, "hex()")
    return lift(scope, [binary], STRING, lambda x: f"{x}.hex().upper()")


def sha2(scope: Scope, value: Value, bits: Value) -> Value:
    """Compile `sha2`."""
    if bits.kind is not INT or bits.literal not in _SUMS:
        raise Refused("sha2() of another size than 224, 256, 384 and 512")
    name = scope.helper(_SUMS[bits.literal])
    binary = as_bytes(scope, value, "sha2()")
    return lift(scope, [binary], STRING, lambda x: f"{name}({x})", declared=True)


def encoded(scope: Scope, text: Value, charset: Value) -> Value:
    """Compile `encode` and `to_binary` to UTF-8."""
    if not isinstance(charset.literal, str) or charset.literal.lower() not in {"utf-8", "utf8"}:
        raise Refused("encode() to another charset than UTF-8")
    value = as_kind(scope, as_kind(scope, text, STRING, "encode()"), BYTES, "encode()")
    return declare(value)


def chosen(scope: Scope, place: Value, *values: Value) -> Value:
    """Compile `elt`."""
    texts = [as_kind(scope, one, STRING, "elt()") for one in values]
    if not texts or any(one.fails for one in texts):
        raise Refused("elt() of what may be undefined")
    listed = "".join(f"{one.source}, " for one in texts)
    function = scope.helper(run_texts.chosen)
    number = as_kind(scope, place, INT, "elt()")
    build = f"{function}({{}}, ({listed}))".format
    return lift(scope, [number], STRING, build, fails=True, nullable=True)


def hashed(name: str, scope: Scope, *values: Value) -> Value:
    """Compile `hash` and `xxhash64` of texts, bytes, whole numbers, dates and timestamps."""
    parts = []
    for one in values:
        need(one, [STRING, BYTES, INT, LONG, DATE, TIMESTAMP], f"{name}()")
        if one.kind in {LONG, TIMESTAMP}:
            first, again = scope.bound(one.source)
            parts.append(f"(None if {first} is None else ({again},))")
        else:
            parts.append(one.source)
    function = scope.helper(run_hash.murmur if name == "hash" else run_hash.xxhash)
    fails = any(one.fails for one in values)
    kind = INT if name == "hash" else LONG
    return Value(f"{function}({', '.join(parts)})", kind, nullable=False, fails=fails)


def before_sign(scope: Scope, text: Value, sign: Value, count: Value) -> Value:
    """Compile `substring_index`."""
    if not sign.is_literal:
        # Looked for once more behind each of its places.
        raise Refused("substring_index() by a delimiter that is no text in quotes")
    kinds = ((text, STRING), (sign, STRING), (count, INT))
    values = [as_kind(scope, one, kind, "substring_index()") for one, kind in kinds]
    fails = not count.is_literal or count.literal == -(2**31)
    return _called(scope, run_texts.before_sign, values, fails=fails)


def _called(
    scope: Scope,
    function: Callable[..., str],
    values: Sequence[Value],
    *,
    fails: bool = False,
    declared: bool = False,
) -> Value:
    name = scope.helper(function)

    def build(*sources: str) -> str:
        return f"{name}({', '.join(sources)})"

    return lift(scope, values, STRING, build, fails=fails, declared=declared)
