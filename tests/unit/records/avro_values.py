"""What the Avro tests have in common: a value as a row holds it, and what a row may hold at all."""

from __future__ import annotations

import datetime as dt
import decimal
import io
import json
import uuid
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import fastavro
from hypothesis import strategies as st

from headrace.records.avro.reader import AvroReader
from headrace.records.rows import attribute, row_class
from headrace.registry.address import RegistryAddress
from headrace.registry.client import Registry
from headrace.schema.avro import to_avro
from headrace.schema.model import Array, Decimal, Enumeration, Field, Fixed, Map, Primitive, Record
from headrace.secret import Secret

if TYPE_CHECKING:
    from collections.abc import Callable

    from headrace.schema.model import Type
    from tests.registry_server import RegistryServer

_EPOCH = dt.datetime(1970, 1, 1)  # noqa: DTZ001 - a local timestamp has no zone
_US = dt.timedelta(microseconds=1)
TIMESTAMPS = (
    Primitive.TIMESTAMP_MILLIS,
    Primitive.TIMESTAMP_MICROS,
    Primitive.LOCAL_TIMESTAMP_MILLIS,
    Primitive.LOCAL_TIMESTAMP_MICROS,
)


def written(schema: Any, value: object) -> bytes:  # noqa: ANN401 - JSON
    """Return Avro's bytes as fastavro writes them."""
    out = io.BytesIO()
    fastavro.schemaless_writer(out, fastavro.parse_schema(schema), value)
    return out.getvalue()


def framed(schema_id: int, payload: bytes) -> bytes:
    return b"\x00" + schema_id.to_bytes(4, "big") + payload


def reader_of(server: RegistryServer, schema: Record) -> AvroReader:
    return AvroReader(schema, Registry(RegistryAddress(Secret(server.url))))


def read_with(server: RegistryServer, writer: object, reader: Record, payload: bytes) -> Any:  # noqa: ANN401 - a row
    """Read a payload that was written with a schema as the stream's own."""
    schema = to_avro(writer) if isinstance(writer, Record) else writer
    held = server.put("s", json.dumps(schema))
    return reader_of(server, reader)(framed(held.id, payload), None)


def held(kind: Type, value: Any) -> Any:  # noqa: ANN401 - the decision's table, line by line
    """Return a value of fastavro's as a row holds it."""
    if value is None:
        return None
    if isinstance(kind, Record):
        return row_class(kind)(*(held(field.type, value[field.name]) for field in kind.fields))
    if isinstance(kind, Array):
        return [held(kind.item, one) for one in value]
    if isinstance(kind, Map):
        return {key: held(kind.item, one) for key, one in value.items()}
    if isinstance(value, uuid.UUID):
        return str(value)
    if isinstance(value, dt.datetime):
        return (value.replace(tzinfo=None) - _EPOCH) // _US
    if isinstance(value, dt.date):
        return (value - _EPOCH.date()).days
    if isinstance(value, dt.time):
        micros = (dt.datetime.combine(_EPOCH, value) - _EPOCH) // _US
        return micros // 1000 if kind is Primitive.TIME_MILLIS else micros
    return value


def conforms(kind: Type, value: Any, *, nullable: bool) -> bool:  # noqa: ANN401 - anything at all
    """Whether a row may hold that value, by the decision's table."""
    if value is None:
        return nullable
    match kind:
        case Record():
            return type(value) is row_class(kind) and all(
                conforms(field.type, getattr(value, attribute(n)), nullable=field.nullable)
                for n, field in enumerate(kind.fields)
            )
        case Array():
            items = [conforms(kind.item, one, nullable=kind.item_nullable) for one in value]
            return type(value) is list and all(items)
        case Map():
            return (
                type(value) is dict
                and all(type(key) is str for key in value)
                and all(conforms(kind.item, v, nullable=kind.item_nullable) for v in value.values())
            )
        case Enumeration():
            return value in kind.symbols
        case Fixed():
            return type(value) is bytes and len(value) == kind.size
        case Decimal():
            exponent = value.as_tuple().exponent
            digits = len(value.as_tuple().digits)
            return (
                type(value) is decimal.Decimal
                and exponent == -kind.scale
                and (digits <= kind.precision)
            )
    return _is_primitive(kind, value)


def _is_primitive(kind: Primitive, value: object) -> bool:
    limits = {
        Primitive.INT: 2**31 - 1,
        Primitive.LONG: 2**63 - 1,
        Primitive.DATE: 2_932_896,
        Primitive.TIME_MILLIS: 86_399_999,
        Primitive.TIME_MICROS: 86_399_999_999,
        **dict.fromkeys(TIMESTAMPS, 253_402_300_799_999_999),
    }
    if kind in limits:
        return type(value) is int and abs(value) <= limits[kind]
    types = {
        Primitive.BOOLEAN: bool,
        Primitive.FLOAT: float,
        Primitive.DOUBLE: float,
        Primitive.BYTES: bytes,
    }
    return type(value) is types.get(kind, str)


@st.composite
def evolved(draw: st.DrawFn, writer: Record, value: Any) -> tuple[Record, dict[str, Any]]:  # noqa: ANN401 - JSON
    """Return another schema that the record can be read as, and the value it then has."""
    fields, expected = [], {}
    for number, field in enumerate(draw(st.permutations(writer.fields))):
        change = draw(st.sampled_from(_CHANGES))
        changed, after = change(replace(field, default=None, aliases=()), number)
        if changed is not None:
            fields.append(changed)
            expected[changed.name] = None if value[field.name] is None else after(value[field.name])
    fields.append(Field("added", Primitive.LONG, nullable=True, default="null"))
    expected["added"] = None
    return replace(writer, fields=tuple(fields)), expected


Change = tuple[Field | None, "Callable[[Any], Any]"]


def _kept(field: Field, _: int) -> Change:
    return field, lambda value: value


def _dropped(_: Field, __: int) -> Change:
    return None, lambda value: value


def _renamed(field: Field, number: int) -> Change:
    return replace(field, name=f"Renamed{number}", aliases=(field.name,)), lambda value: value


def _nullable(field: Field, _: int) -> Change:
    return replace(field, nullable=True, null_last=not field.null_last), lambda value: value


def _promoted(field: Field, number: int) -> Change:
    wider: dict[object, tuple[Primitive, Callable[[Any], Any]]] = {
        Primitive.INT: (Primitive.LONG, int),
        Primitive.LONG: (Primitive.DOUBLE, float),
        Primitive.FLOAT: (Primitive.DOUBLE, float),
        Primitive.STRING: (Primitive.BYTES, str.encode),
    }
    if isinstance(field.type, Enumeration) or field.type not in wider:
        return _kept(field, number)
    kind, after = wider[field.type]
    return replace(field, type=kind), after


_CHANGES = (_kept, _dropped, _renamed, _nullable, _promoted)
