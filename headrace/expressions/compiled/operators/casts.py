"""CAST between the types of one value."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from headrace.expressions.compiled.fragment import NULL, Fragment, Kind, Scope, lift, literal_of
from headrace.expressions.compiled.operators.coercion import (
    BOOLEAN,
    BYTES,
    DATE,
    DOUBLE,
    INT,
    LIMITS,
    LOCAL,
    LONG,
    MOMENTS,
    NUMBERS,
    STRING,
    TIMESTAMP,
    WHOLE,
    text_as,
    widened,
)
from headrace.expressions.compiled.runtime import encodings, moments, numbers
from headrace.expressions.compiled.runtime.errors import tried
from headrace.expressions.compiled.syntax import Refused
from headrace.times import DAY_US

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from headrace.schema.model import Primitive

NAMES: Final = {
    "int": INT,
    "integer": INT,
    "bigint": LONG,
    "long": LONG,
    "double": DOUBLE,
    "boolean": BOOLEAN,
    "string": STRING,
    "binary": BYTES,
    "date": DATE,
    "timestamp": TIMESTAMP,
    "timestamp_ltz": TIMESTAMP,
    "timestamp_ntz": LOCAL,
}


@dataclass(frozen=True, slots=True)
class _Cast:
    """A template of the value's source, in which `{f}` is the function and `{limits}` the type's."""

    source: str
    f: Callable[..., object] | None = None
    fails: bool = False
    declared: bool = False


_CASTS: Final[Mapping[tuple[Kind, Kind], _Cast]] = {
    **{(BOOLEAN, kind): _Cast("int({0})") for kind in WHOLE},
    (BOOLEAN, DOUBLE): _Cast("float({0})"),
    (BOOLEAN, STRING): _Cast("'true' if {0} else 'false'"),
    **{(kind, BOOLEAN): _Cast("{0} != 0") for kind in NUMBERS},
    **{(kind, STRING): _Cast("str({0})") for kind in WHOLE},
    **{(kind, TIMESTAMP): _Cast("{f}({0})", moments.micros_clamped) for kind in WHOLE},
    (LONG, INT): _Cast("{f}({0}, {limits})", numbers.whole_in, fails=True),
    **{
        (DOUBLE, kind): _Cast("{f}({0}, {limits})", numbers.whole_of_double, True, True)
        for kind in WHOLE
    },
    (STRING, BYTES): _Cast("{0}.encode()"),
    (DATE, STRING): _Cast("{f}({0})", moments.date_text),
    (DATE, LOCAL): _Cast("{f}({0})", moments.start_of_day, fails=True, declared=True),
    (TIMESTAMP, DATE): _Cast(f"{{0}} // {DAY_US}"),
    (LOCAL, DATE): _Cast(f"{{0}} // {DAY_US}", declared=True),
    (TIMESTAMP, LONG): _Cast("{0} // 1000000"),
    (TIMESTAMP, INT): _Cast("{f}({0} // 1000000, {limits})", numbers.whole_in, True, True),
    **{(kind, STRING): _Cast("{f}({0})", moments.timestamp_text) for kind in MOMENTS},
}


def named_cast(name: str, scope: Scope, value: Fragment) -> Fragment:
    """Compile CAST; a name that is no type's is refused."""
    kind = NAMES.get(name)
    if kind is None:
        raise Refused(f"a cast to {name}")
    return cast(scope, value, kind)


def cast(scope: Scope, value: Fragment, kind: Primitive) -> Fragment:
    """Return a value as another type."""
    # The session's time zone is UTC: a wall clock shows the same.
    if value.kind in {kind, None} or (value.kind in MOMENTS and kind in MOMENTS):
        return replace(value, type=kind)
    known = _CASTS.get((value.kind, kind))
    if known is None:
        return text_as(scope, value, kind) if value.kind is STRING else widened(scope, value, kind)
    function = "" if known.f is None else scope.helper(known.f)
    limits = ", ".join(map(repr, LIMITS.get(kind, ())))

    def build(source: str) -> str:
        return known.source.format(source, f=function, limits=limits)

    return lift(scope, [value], kind, build, fails=known.fails, declared=known.declared)


def as_kind(scope: Scope, value: Fragment, kind: Primitive, what: str) -> Fragment:
    """Return an argument as the type that a function takes, as Spark casts it without being asked."""
    if value.kind is kind:
        return value
    if value.kind is None:
        return replace(NULL, type=kind)
    is_text = (kind is STRING and value.kind is not BYTES) or value.kind is STRING
    wider = {LONG: (INT,), DOUBLE: WHOLE, DATE: MOMENTS, TIMESTAMP: (DATE, LOCAL)}
    if not is_text and value.kind not in wider.get(kind, ()):
        raise Refused(f"{what} of {value.kind_name}")
    return cast(scope, value, kind)


def try_cast(name: str, scope: Scope, value: Fragment) -> Fragment:
    """Compile TRY_CAST: null where a value has no such meaning; a value that fails still does."""
    done = named_cast(name, scope, value)
    if not done.fails or done.literal is None:
        return replace(done, declared=done.declared or value.kind is STRING)
    inner = named_cast(name, scope, Fragment("x", value.type, nullable=False))
    first, again = scope.bound(value.source)
    attempt = f"{scope.helper(tried)}(lambda x: {inner.source}, {again})"
    source = f"(None if {first} is None else {attempt})"
    return Fragment(source, done.type, nullable=True, fails=value.fails)


def typed_literal(name: str, scope: Scope, text: Fragment) -> Fragment:
    """Compile DATE '…' and TIMESTAMP '…', which Spark reads before all else."""
    value = named_cast(name, scope, text)
    if not value.is_literal:
        raise Refused(f"the {name} '{text.literal}'")
    return replace(value, declared=False)


def bytes_literal(scope: Scope, text: Fragment) -> Fragment:
    """Compile X'…'."""
    value = encodings.bytes_of_hex(text.literal)
    if value is None:
        raise Refused(f"the bytes X'{text.literal}'")
    return literal_of(scope, value, BYTES)
