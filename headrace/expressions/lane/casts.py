"""CAST between the types of one value."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from headrace.expressions.lane import run_codes, run_moments, run_numbers
from headrace.expressions.lane.coerce import (
    BOOLEAN,
    BYTES,
    DATE,
    DOUBLE,
    INT,
    LIMITS,
    LOCAL,
    LONG,
    STRING,
    TIMESTAMP,
    WHOLE,
    micros_literal,
    text_as,
    widened,
)
from headrace.expressions.lane.nodes import Refused
from headrace.expressions.lane.value import NULL, Value, declare, lift, literal_of, name_of, need
from headrace.schema.model import Primitive

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from headrace.expressions.lane.value import Kind, Scope


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
_MOMENTS: Final = (TIMESTAMP, LOCAL)


def named_cast(name: str, scope: Scope, value: Value) -> Value:
    """Compile CAST; a name that is no type's is refused."""
    kind = NAMES.get(name)
    if kind is None:
        raise Refused(f"a cast to {name}")
    return cast(scope, value, kind)


def cast(scope: Scope, value: Value, kind: Primitive) -> Value:
    """Return a value as another type."""
    if value.kind is None:
        return Value("None", kind, nullable=True, literal=None)
    if value.kind is kind:
        return value if value.type is kind else lift(scope, [value], kind, lambda x: x)
    if kind in WHOLE:
        return _to_whole(scope, value, kind)
    return _TO[kind](scope, value)


def as_kind(scope: Scope, value: Value, kind: Primitive, what: str) -> Value:
    """Return an argument as the type that a function takes, as Spark casts it without being asked."""
    if value.kind is kind:
        return value
    if value.kind is None:
        return replace(NULL, type=kind)
    is_text = (kind is STRING and value.kind is not BYTES) or value.kind is STRING
    wider = {LONG: (INT,), DOUBLE: WHOLE, DATE: _MOMENTS, TIMESTAMP: (DATE, LOCAL)}
    if not is_text and value.kind not in wider.get(kind, ()):
        raise Refused(f"{what} of {name_of(value.kind)}")
    return cast(scope, value, kind)


def typed_literal(name: str, scope: Scope, text: Value) -> Value:
    """Compile DATE '…' and TIMESTAMP '…', which Spark reads before all else."""
    value = named_cast(name, scope, text)
    if not value.is_literal:
        raise Refused(f"the {name} '{text.literal}'")
    return replace(value, declared=False)


def bytes_literal(scope: Scope, text: Value) -> Value:
    """Compile X'…'."""
    value = run_codes.bytes_of_hex(text.literal)
    if value is None:
        raise Refused(f"the bytes X'{text.literal}'")
    return literal_of(scope, value, BYTES)


def _refused(value: Value, kind: Kind) -> Refused:
    return Refused(f"a cast of {name_of(value.kind)} to {name_of(kind)}")


def _to_whole(scope: Scope, value: Value, kind: Primitive) -> Value:
    lowest, largest, name = LIMITS[kind]
    is_moment = value.kind is TIMESTAMP
    limits = f"{lowest}, {largest}, {name!r}"
    match value.kind:
        case Primitive.BOOLEAN:
            return lift(scope, [value], kind, lambda x: f"int({x})")
        case Primitive.INT:
            return widened(scope, value, kind)
        case Primitive.LONG:
            function: Callable[..., int] = run_numbers.whole_in
        case Primitive.DOUBLE:
            function = run_numbers.whole_of_double
        case Primitive.STRING:
            return text_as(scope, value, kind)
        case Primitive.TIMESTAMP_MICROS:
            value = lift(scope, [value], LONG, lambda x: f"{x} // 1000000")
            if kind is LONG:
                return value
            function = run_numbers.whole_in
        case _:
            raise _refused(value, kind)
    build = f"{scope.helper(function)}({{}}, {limits})".format
    declared = function is not run_numbers.whole_in or is_moment
    return lift(scope, [value], kind, build, fails=True, declared=declared)


def _to_double(scope: Scope, value: Value) -> Value:
    if value.kind is BOOLEAN:
        return lift(scope, [value], DOUBLE, lambda x: f"float({x})")
    if value.kind is STRING:
        return text_as(scope, value, DOUBLE)
    if value.kind in {DATE, TIMESTAMP, LOCAL, BYTES}:
        raise _refused(value, DOUBLE)
    return widened(scope, value, DOUBLE)


def _to_boolean(scope: Scope, value: Value) -> Value:
    if value.kind in {INT, LONG, DOUBLE}:
        return lift(scope, [value], BOOLEAN, lambda x: f"{x} != 0")
    if value.kind is not STRING:
        raise _refused(value, BOOLEAN)
    return text_as(scope, value, BOOLEAN)


def as_text(scope: Scope, value: Value) -> Value:
    """Return a value as text, as concat() and a cast to string do it."""
    functions: dict[Kind, Callable[..., str]] = {
        INT: str,
        LONG: str,
        BOOLEAN: run_numbers.boolean_text,
        DATE: run_moments.date_text,
        TIMESTAMP: run_moments.timestamp_text,
        LOCAL: run_moments.timestamp_text,
    }
    if value.kind is STRING:
        return value
    if value.kind not in functions:
        raise _refused(value, STRING)
    function = functions[value.kind]
    name = "str" if function is str else scope.helper(function)
    return lift(scope, [value], STRING, lambda x: f"{name}({x})")


def as_bytes(scope: Scope, value: Value, what: str) -> Value:
    """Return a text or bytes as bytes."""
    if need(value, [STRING, BYTES], what).kind is BYTES:
        return value
    return lift(scope, [value], BYTES, lambda x: f"{x}.encode()")


def _to_bytes(scope: Scope, value: Value) -> Value:
    return as_bytes(scope, value, "a cast to binary")


def _to_date(scope: Scope, value: Value) -> Value:
    if value.kind in _MOMENTS:
        build = f"{{}} // {run_moments.DAY_US}".format
        return lift(scope, [value], DATE, build, declared=value.kind is LOCAL)
    if value.kind is not STRING:
        raise _refused(value, DATE)
    return text_as(scope, value, DATE)


def _to_timestamp(scope: Scope, value: Value) -> Value:
    if value.kind in WHOLE:
        name = scope.helper(run_moments.micros_clamped)
        return lift(scope, [value], TIMESTAMP, lambda x: f"{name}({x})")
    return _to_moment(scope, value, TIMESTAMP)


def _to_local(scope: Scope, value: Value) -> Value:
    return _to_moment(scope, value, LOCAL)


def _to_moment(scope: Scope, value: Value, kind: Primitive) -> Value:
    if value.kind in _MOMENTS:
        # The session's time zone is UTC: a wall clock shows the same.
        return lift(scope, [value], kind, lambda x: x)
    if value.kind is DATE:
        moment = widened(scope, value, kind)
        return declare(moment) if kind is LOCAL else moment
    if value.kind is STRING and value.is_literal:
        return replace(literal_of(scope, micros_literal(value.literal), kind), declared=True)
    raise _refused(value, kind)


_TO: Final[Mapping[Kind, Callable[[Scope, Value], Value]]] = {
    DOUBLE: _to_double,
    BOOLEAN: _to_boolean,
    STRING: as_text,
    BYTES: _to_bytes,
    DATE: _to_date,
    TIMESTAMP: _to_timestamp,
    LOCAL: _to_local,
}
