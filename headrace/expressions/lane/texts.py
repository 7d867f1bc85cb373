"""Functions of texts and bytes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from headrace.expressions.lane import run_hash, run_texts
from headrace.expressions.lane.casts import as_bytes, as_text
from headrace.expressions.lane.coerce import (
    BOOLEAN,
    BYTES,
    DATE,
    INT,
    LONG,
    STRING,
    TIMESTAMP,
    WHOLE,
    widened,
)
from headrace.expressions.lane.nodes import Refused
from headrace.expressions.lane.run_case import lower, upper
from headrace.expressions.lane.value import Value, lift, literal_of, need
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


def _texts(what: str, values: Sequence[Value]) -> Sequence[Value]:
    return [need(one, [STRING], what) for one in values]


def _text_and_whole(what: str, text: Value, *numbers: Value) -> list[Value]:
    return [need(text, [STRING], what), *(need(one, [INT], what) for one in numbers)]


def upper_case(scope: Scope, text: Value) -> Value:
    """Compile `upper`."""
    name = scope.helper(upper)
    return lift(scope, _texts("upper()", [text]), STRING, lambda x: f"{name}({x})")


def lower_case(scope: Scope, text: Value) -> Value:
    """Compile `lower`."""
    name = scope.helper(lower)
    return lift(scope, _texts("lower()", [text]), STRING, lambda x: f"{name}({x})")


def trim(scope: Scope, method: str, text: Value, signs: Value | None) -> Value:
    """Compile the trims by Python's method of the same work: what is taken off is one set."""
    if signs is None:
        return lift(scope, _texts("trim()", [text]), STRING, lambda x: f"{x}.{method}(' ')")
    values = _texts("trim()", [text, signs])
    if signs.is_literal:
        return lift(scope, values, STRING, lambda x, y: f"{x}.{method}({y})")
    return _called(scope, _TRIMS[method], values)


def length(scope: Scope, value: Value) -> Value:
    """Compile `length`."""
    need(value, [STRING, BYTES], "length()")
    return lift(scope, [value], INT, lambda x: f"len({x})")


def octets(scope: Scope, value: Value, each: int) -> Value:
    """Compile `octet_length` and `bit_length`."""
    need(value, [STRING, BYTES], "octet_length()")
    times = "" if each == 1 else f" * {each}"
    if value.kind is BYTES:
        return lift(scope, [value], INT, lambda x: f"len({x}){times}")
    return lift(scope, [value], INT, lambda x: f"len({x}.encode()){times}")


def concat(scope: Scope, values: Sequence[Value]) -> Value:
    """Compile `concat` and ||."""
    if not values:
        return literal_of(scope, "", STRING)
    if any(one.kind not in {STRING, INT, LONG} for one in values):
        if all(one.kind is BYTES for one in values):
            return lift(scope, values, BYTES, lambda *x: " + ".join(x))
        values = [as_text(scope, one) for one in values]
    values = [as_text(scope, one) for one in values]
    scope.joined += len(values)
    if scope.joined <= _FEW:
        return lift(scope, values, STRING, lambda *x: " + ".join(x))
    return _called(scope, run_texts.put_together, values)


def concat_with(scope: Scope, separator: Value, values: Sequence[Value]) -> Value:
    """Compile `concat_ws` of texts and lists of texts."""
    need(separator, [STRING], "concat_ws()")
    parts = []
    for one in values:
        is_list = isinstance(one.kind, Array)
        if is_list and one.kind != Array(STRING, True) and one.kind != Array(STRING, False):
            raise Refused("concat_ws() of a list of other values than texts")
        if not is_list:
            need(one, [STRING], "concat_ws()")
        if one.fails:
            raise Refused("concat_ws() of what may be undefined")
        parts.append(f"*({one.source} or ())" if is_list else one.source)
    name = scope.helper(run_texts.joined)
    listed = "".join(f"{part}, " for part in parts)
    return lift(scope, [separator], STRING, lambda x: f"{name}({x}, ({listed}))")


def substring(scope: Scope, value: Value, start: Value, size: Value | None) -> Value:
    """Compile `substring`."""
    kind = need(value, [STRING, BYTES], "substring()").kind
    numbers = [need(one, [INT], "substring()") for one in (start, size) if one is not None]
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


def left(scope: Scope, text: Value, size: Value) -> Value:
    """Compile `left`."""
    values = _text_and_whole("left()", text, size)
    return _called(scope, run_texts.first, values)


def right(scope: Scope, text: Value, size: Value) -> Value:
    """Compile `right`."""
    values = _text_and_whole("right()", text, size)
    return _called(scope, run_texts.last, values, declared=True)


def replace(scope: Scope, text: Value, old: Value, new: Value | None) -> Value:
    """Compile `replace`."""
    new = literal_of(scope, "", STRING) if new is None else new
    values = _texts("replace()", [text, old, new])
    return _called(scope, run_texts.replaced, values)


def tested(scope: Scope, sign: str, text: Value, part: Value) -> Value:
    """Compile `startswith`, `endswith` and `contains`."""
    values = _texts(f"{sign}()", [text, part])
    if sign == "contains":
        return lift(scope, values, BOOLEAN, lambda x, y: f"{y} in {x}")
    return lift(scope, values, BOOLEAN, lambda x, y: f"{x}.{sign}({y})")


def instr(scope: Scope, text: Value, part: Value) -> Value:
    """Compile `instr`."""
    return lift(scope, _texts("instr()", [text, part]), INT, lambda x, y: f"{x}.find({y}) + 1")


def locate(scope: Scope, part: Value, text: Value, start: Value | None) -> Value:
    """Compile `locate` and `position`."""
    values = _texts("locate()", [part, text])
    if start is None:
        return lift(scope, values, INT, lambda y, x: f"{x}.find({y}) + 1")
    if not start.is_literal or start.kind is not INT:
        raise Refused("locate() from a place that is no number")
    name = scope.helper(run_texts.place_of)
    return lift(scope, values, INT, lambda y, x: f"{name}({y}, {x}, {start.source})")


def pad(scope: Scope, side: str, text: Value, size: Value, signs: Value | None) -> Value:
    """Compile `lpad` and `rpad`."""
    signs = literal_of(scope, " ", STRING) if signs is None else need(signs, [STRING], f"{side}()")
    values = [*_text_and_whole(f"{side}()", text, size), signs]
    function = run_texts.padded_left if side == "lpad" else run_texts.padded_right
    return _called(scope, function, values)


def reverse(scope: Scope, value: Value) -> Value:
    """Compile `reverse` of a text or a list."""
    if isinstance(value.kind, Array) and value.type is not None:
        return lift(scope, [value], value.type, lambda x: f"{x}[::-1]")
    return lift(scope, _texts("reverse()", [value]), STRING, lambda x: f"{x}[::-1]")


def repeat(scope: Scope, text: Value, times: Value) -> Value:
    """Compile `repeat`."""
    values = _text_and_whole("repeat()", text, times)
    return _called(scope, run_texts.repeated, values)


def split_part(scope: Scope, text: Value, separator: Value, place: Value) -> Value:
    """Compile `split_part`."""
    values = [*_texts("split_part()", [text, separator]), need(place, [INT], "split_part()")]
    fails = not place.is_literal or place.literal == 0
    return _called(scope, run_texts.split_part, values, fails=fails, declared=True)


def code_of(scope: Scope, text: Value) -> Value:
    """Compile `ascii`."""
    name = scope.helper(run_texts.code_of)
    return lift(scope, _texts("ascii()", [text]), INT, lambda x: f"{name}({x})")


def sign_of_code(scope: Scope, code: Value) -> Value:
    """Compile `chr`."""
    value = widened(scope, need(code, WHOLE, "chr()"), LONG)
    return _called(scope, run_texts.sign_of_code, [value])


def hexadecimal(scope: Scope, value: Value) -> Value:
    """Compile `hex`."""
    if value.kind in WHOLE:
        return _called(scope, run_texts.hex_of_whole, [value])
    binary = as_bytes(scope, value, "hex()")
    return lift(scope, [binary], STRING, lambda x: f"{x}.hex().upper()")


def base64(scope: Scope, value: Value) -> Value:
    """Compile `base64`."""
    return _called(scope, run_texts.base64, [as_bytes(scope, value, "base64()")])


def md5(scope: Scope, value: Value) -> Value:
    """Compile `md5`."""
    return _called(scope, run_texts.md5, [as_bytes(scope, value, "md5()")])


def sha1(scope: Scope, value: Value) -> Value:
    """Compile `sha` and `sha1`."""
    return _called(scope, run_texts.sha1, [as_bytes(scope, value, "sha1()")])


def sha2(scope: Scope, value: Value, bits: Value) -> Value:
    """Compile `sha2`."""
    if bits.kind is not INT or bits.literal not in _SUMS:
        raise Refused("sha2() of another size than 224, 256, 384 and 512")
    name = scope.helper(_SUMS[bits.literal])
    binary = as_bytes(scope, value, "sha2()")
    return lift(scope, [binary], STRING, lambda x: f"{name}({x})", declared=True)


def crc32(scope: Scope, value: Value) -> Value:
    """Compile `crc32`."""
    name = scope.helper(run_texts.crc32)
    return lift(scope, [as_bytes(scope, value, "crc32()")], LONG, lambda x: f"{name}({x})")


def hashed(scope: Scope, name: str, values: Sequence[Value]) -> Value:
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
    values = [*_texts("substring_index()", [text, sign]), need(count, [INT], "substring_index()")]
    fails = not count.is_literal or count.literal == -(2**31)
    return _called(scope, run_texts.before_sign, values, fails=fails)


def translate(scope: Scope, text: Value, old: Value, new: Value) -> Value:
    """Compile `translate`."""
    return _called(scope, run_texts.translated, _texts("translate()", [text, old, new]))


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
