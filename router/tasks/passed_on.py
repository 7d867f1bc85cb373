"""Which times a route passes on as text: no output computes with them, and each writes JSON.

A time as computers write it then costs a look at its form, and is neither read nor written.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from headrace.records.hygiene.rules import column_of
from headrace.records.rows import attribute
from headrace.records.time_lines import filled_up
from headrace.schema.model import Primitive
from router.plan.model import ToTopic

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from headrace.schema.model import Field, Record
    from router.plan.model import Outlet, RoutePlan
    from router.tasks.compile import CompiledOutlet

_INSTANTS: Final = (Primitive.TIMESTAMP_MILLIS, Primitive.TIMESTAMP_MICROS)


def times_passed_on(plan: RoutePlan, outlets: Sequence[CompiledOutlet]) -> frozenset[str]:
    """Return the fields of the source whose values rows hold as the text that JSON gets."""
    if plan.source.format != "json":
        return frozenset()
    times = {
        f"r.{attribute(number)}": field.name
        for number, field in enumerate(plan.source.schema.fields)
        # A default is no text.
        if field.type in _INSTANTS and field.default in {None, "null"}
    }
    passed: set[str] = set()
    computed = {_source_of(name, plan.source.schema) for name in plan.hygiene.ranges}
    for one in outlets:
        for expression in one.expressions:
            is_column = any(expression is column for column in one.columns)
            if is_column and is_json(one.outlet) and expression.source in times:
                passed.add(expression.source)
            else:
                computed.update(f"r.{name}" for name in expression.reads)
    return frozenset(times[source] for source in passed - computed)


def is_json(outlet: Outlet) -> bool:
    """Whether an output's values are JSON."""
    return not isinstance(outlet.target, ToTopic) or outlet.target.format == "json"


def with_texts(
    one: CompiledOutlet, source: Record, texts: Collection[str]
) -> tuple[Record, list[str]]:
    """Return the schema of what an output writes as JSON, and source for each of its values."""
    held = {_source_of(name, source) for name in texts}
    fields: list[Field] = []
    values: list[str] = []
    for field, column in zip(one.schema.fields, one.columns, strict=True):
        is_text = column.source in held
        fields.append(replace(field, type=Primitive.STRING) if is_text else field)
        values.append(filled_up(column.source, "passed") if is_text else column.source)
    return replace(one.schema, fields=tuple(fields)), values


def _source_of(column: str, schema: Record) -> str:
    return f"r.{column_of(schema, column).attributes[0]}"
