"""Schemas of every shape that the model allows, and the values that fastavro takes for them."""

from __future__ import annotations

import datetime as dt
import decimal
import itertools
import uuid
from typing import TYPE_CHECKING

from hypothesis import strategies as st

from headrace.schema.model import (
    Array,
    Decimal,
    Enumeration,
    Field,
    Fixed,
    Map,
    Primitive,
    Record,
)
from headrace.schema.rules import largest_precision

if TYPE_CHECKING:
    from collections.abc import Callable

    from headrace.schema.model import Type

_NAMES = st.from_regex(r"[a-z_][a-z0-9_]{0,6}", fullmatch=True)
_TEXTS = st.none() | st.text(max_size=8)
_EPOCH = dt.datetime(1970, 1, 1)  # noqa: DTZ001 - a local timestamp has no zone
_DEFAULTS = {
    Primitive.STRING: '"x"',
    Primitive.INT: "7",
    Primitive.BOOLEAN: "true",
    Primitive.DOUBLE: "0.5",
}


class _Schemas:
    """Draws one record. Named types are numbered, and some of them are used again."""

    def __init__(self, draw: st.DrawFn) -> None:
        self._draw = draw
        self._pool: list[Type] = []
        self._numbers = itertools.count(1)
        self._namespace = draw(st.sampled_from(["", "tv.headrace.", "tv."]))

    def record(self, depth: int) -> Record:
        names = self._draw(st.lists(_NAMES, min_size=1, max_size=4, unique_by=str.casefold))
        own = self._name("Record")
        fields = tuple(self._field(name, depth) for name in names)
        return Record(own, fields, self._draw(_TEXTS), self._draw(_aliases()))

    def _name(self, kind: str) -> str:
        return f"{self._namespace}{kind}{next(self._numbers)}"

    def _field(self, name: str, depth: int) -> Field:
        type_ = self.type(depth)
        nullable = self._draw(st.booleans())
        null_last = nullable and self._draw(st.booleans())
        fitting: list[str | None] = [None]
        if nullable and not null_last:
            fitting.append("null")
        elif isinstance(type_, Primitive):
            fitting.append(_DEFAULTS.get(type_))
        default = self._draw(st.sampled_from(fitting))
        return Field(
            name,
            type_,
            nullable,
            doc=self._draw(_TEXTS),
            default=default,
            aliases=self._draw(_aliases()),
            null_last=null_last,
        )

    def type(self, depth: int) -> Type:
        makers: list[Callable[[], Type]] = [
            self._primitive,
            self._decimal,
            self._enumeration,
            self._fixed,
        ]
        if depth:
            makers += [
                self._array(depth - 1),
                self._map(depth - 1),
                lambda: self._kept(self.record(depth - 1)),
            ]
        if self._pool:
            makers.append(lambda: self._draw(st.sampled_from(self._pool)))
        return self._draw(st.sampled_from(makers))()

    def _kept(self, type_: Type) -> Type:
        self._pool.append(type_)
        return type_

    def _primitive(self) -> Type:
        primitives: list[Type] = list(Primitive)
        return self._draw(st.sampled_from(primitives))

    def _decimal(self) -> Type:
        size = self._draw(st.none() | st.integers(1, 20))
        largest = 38 if size is None else min(38, largest_precision(size))
        precision = self._draw(st.integers(1, largest))
        scale = self._draw(st.integers(0, precision))
        fixed = None if size is None else Fixed(self._name("Number"), size)
        made = Decimal(precision, scale, fixed)
        return self._kept(made) if fixed else made

    def _enumeration(self) -> Type:
        symbols = tuple(self._draw(st.lists(_NAMES, min_size=1, max_size=3, unique=True)))
        default = self._draw(st.sampled_from([None, symbols[0]]))
        return self._kept(
            Enumeration(self._name("Enum"), symbols, default, self._draw(_TEXTS), ("Older",))
        )

    def _fixed(self) -> Type:
        size = self._draw(st.sampled_from([1, 5, 16]))
        is_uuid = size == 16 and self._draw(st.booleans())
        return self._kept(Fixed(self._name("Fixed"), size, is_uuid, ("older",)))

    def _array(self, depth: int) -> Callable[[], Type]:
        def make() -> Type:
            item, nullable = self.type(depth), self._draw(st.booleans())
            return Array(item, nullable, nullable and self._draw(st.booleans()))

        return make

    def _map(self, depth: int) -> Callable[[], Type]:
        def make() -> Type:
            value, nullable = self.type(depth), self._draw(st.booleans())
            return Map(value, nullable, nullable and self._draw(st.booleans()))

        return make


def _aliases() -> st.SearchStrategy[tuple[str, ...]]:
    return st.sampled_from([(), ("older",), ("older", "oldest")])


@st.composite
def records(draw: st.DrawFn, depth: int = 2) -> Record:
    return _Schemas(draw).record(depth)


def values(type_: Type) -> st.SearchStrategy[object]:
    """Return Python values as fastavro writes and reads them."""
    if isinstance(type_, Primitive):
        return _PRIMITIVES[type_]
    if isinstance(type_, Fixed | Decimal | Enumeration):
        return _of_named(type_)
    if isinstance(type_, Array):
        return st.lists(_or_none(values(type_.item), type_.item_nullable), max_size=3)
    if isinstance(type_, Map):
        value = _or_none(values(type_.item), type_.item_nullable)
        return st.dictionaries(st.text(max_size=3), value, max_size=3)
    return st.fixed_dictionaries(
        {field.name: _or_none(values(field.type), field.nullable) for field in type_.fields}
    )


def _of_named(type_: Fixed | Decimal | Enumeration) -> st.SearchStrategy[object]:
    if isinstance(type_, Enumeration):
        return st.sampled_from(type_.symbols)
    if isinstance(type_, Decimal):
        scale, largest = type_.scale, 10**type_.precision - 1
        unscaled = st.integers(-largest, largest)
        return unscaled.map(lambda n: decimal.Decimal(n).scaleb(-scale, _EXACT))
    return st.binary(min_size=type_.size, max_size=type_.size)


_EXACT = decimal.Context(prec=60)


def _or_none(strategy: st.SearchStrategy[object], nullable: bool) -> st.SearchStrategy[object]:
    return st.none() | strategy if nullable else strategy


_SECONDS = 2**34  # some five hundred years either side


def _moments(step: dt.timedelta, zone: dt.tzinfo | None) -> st.SearchStrategy[dt.datetime]:
    steps = dt.timedelta(seconds=_SECONDS) // step
    return st.integers(-steps // 16, steps // 16).map(
        lambda n: (_EPOCH + n * step).replace(tzinfo=zone)
    )


def _times(step_us: int) -> st.SearchStrategy[dt.time]:
    day_us = 86_400_000_000
    return st.integers(0, day_us // step_us - 1).map(
        lambda n: (_EPOCH + dt.timedelta(microseconds=n * step_us)).time()
    )


_MS, _US = dt.timedelta(milliseconds=1), dt.timedelta(microseconds=1)
_PRIMITIVES: dict[Primitive, st.SearchStrategy[object]] = {
    Primitive.BOOLEAN: st.booleans(),
    Primitive.INT: st.integers(-(2**31), 2**31 - 1),
    Primitive.LONG: st.integers(-(2**63), 2**63 - 1),
    Primitive.FLOAT: st.floats(width=32, allow_nan=False),
    Primitive.DOUBLE: st.floats(allow_nan=False),
    Primitive.BYTES: st.binary(max_size=5),
    Primitive.STRING: st.text(max_size=5),
    Primitive.DATE: st.dates(dt.date(1600, 1, 1), dt.date(2400, 1, 1)),
    Primitive.TIME_MILLIS: _times(1000),
    Primitive.TIME_MICROS: _times(1),
    Primitive.TIMESTAMP_MILLIS: _moments(_MS, dt.UTC),
    Primitive.TIMESTAMP_MICROS: _moments(_US, dt.UTC),
    Primitive.LOCAL_TIMESTAMP_MILLIS: _moments(_MS, None),
    Primitive.LOCAL_TIMESTAMP_MICROS: _moments(_US, None),
    Primitive.UUID: st.uuids(),
}


def in_memory(type_: Type, value: object) -> object:
    """Return a fastavro value as the contract has it in memory, live or stored."""
    if isinstance(type_, Record) and isinstance(value, dict):
        return {f.name: in_memory(f.type, value[f.name]) for f in type_.fields}
    if isinstance(type_, Array) and isinstance(value, list):
        return [in_memory(type_.item, item) for item in value]
    if isinstance(type_, Map) and isinstance(value, dict):
        return {key: in_memory(type_.item, item) for key, item in value.items()}
    if isinstance(value, uuid.UUID):
        return str(value)
    if isinstance(value, dt.time):
        unit = _MS if type_ is Primitive.TIME_MILLIS else _US
        return (dt.datetime.combine(_EPOCH, value) - _EPOCH) // unit
    return value
