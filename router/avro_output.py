"""The Avro schema of an output that names none: made of the types of its columns."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from headrace.errors import Terminal
from headrace.expressions.lane.compile import NotCompiled, compile_expression
from headrace.schema.model import Field, Record

if TYPE_CHECKING:
    from router.plan import Outlet


def output_schema(outlet: Outlet, schema: Record) -> Record:
    """Return the schema; an expression whose type is known to Spark alone asks for a file."""
    fields: list[Field] = []
    for column in outlet.columns:
        known = schema.field(column.expression)
        if known is not None:
            fields.append(Field(column.name, known.type, known.nullable, default=known.default))
            continue
        compiled = compile_expression(column.expression, schema)
        if isinstance(compiled, NotCompiled):
            raise Terminal(
                f"output {outlet.name}: the Avro type of column {column.name} is not known"
                f" before Spark evaluates it ({compiled.reason})",
                "name a schema file: sink.schema",
            )
        fields.append(Field(column.name, compiled.type, compiled.nullable))
    name = re.sub(r"\W", "_", outlet.name)
    return Record(name if not name[:1].isdigit() else f"_{name}", tuple(fields))
