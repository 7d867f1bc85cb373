"""A field's default as a record would have brought it.

Avro writes the default of bytes as a text of the characters 0 to 255, and a decimal's likewise;
in a record they are base64 and a number.
"""

from __future__ import annotations

import base64
import decimal
import json
from typing import TYPE_CHECKING

from headrace.schema.model import Array, Decimal, Fixed, Map, Primitive, Record

if TYPE_CHECKING:
    from headrace.schema.model import Field, Type

_EXACT = decimal.Context(prec=60)


def default_json(field: Field) -> str:
    """Return the default as JSON text; `null` where the field has none."""
    if field.default is None:
        return "null"
    return json.dumps(_in_a_record(field.type, json.loads(field.default)))


def _in_a_record(kind: Type, value: object) -> object:
    match kind, value:
        case Record(), dict():
            known = {field.name: field.type for field in kind.fields}
            return {n: _in_a_record(known[n], one) for n, one in value.items() if n in known}
        case Array(), list():
            return [_in_a_record(kind.item, one) for one in value]
        case Map(), dict():
            return {name: _in_a_record(kind.value, one) for name, one in value.items()}
        case ((Fixed() | Primitive.BYTES), str()):
            return base64.b64encode(value.encode("latin-1")).decode()
        case Decimal(), str():
            unscaled = int.from_bytes(value.encode("latin-1"), "big", signed=True)
            return str(decimal.Decimal(unscaled).scaleb(-kind.scale, _EXACT))
        case _:
            return value
