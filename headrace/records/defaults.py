"""The default of a field, for a record that was written without the field."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.records.codegen import Names, function
from headrace.records.rows import row_class
from headrace.schema.defaults import HeldRecord, held_default

if TYPE_CHECKING:
    from collections.abc import Callable

    from headrace.records.rows import FieldValue
    from headrace.schema.model import Field


def default_of(field: Field) -> Callable[[], FieldValue]:
    """Return what makes the field's default, null where it has none."""
    names = Names()
    source = default_source(field, names)
    return function("default", [], [f"return {source}"], names.objects)


def default_source(field: Field, names: Names) -> str:
    """Return an expression for the field's default, made for each record: none share a list."""
    return _fresh(held_default(field), names)


def _fresh(value: object, names: Names) -> str:
    match value:
        case list():
            return f"[{', '.join(_fresh(one, names) for one in value)}]"
        case dict():
            pairs = (f"{names.name(key)}: {_fresh(one, names)}" for key, one in value.items())
            return f"{{{', '.join(pairs)}}}"
        case HeldRecord():
            made = names.name(row_class(value.record))
            return f"{made}({', '.join(_fresh(one, names) for one in value.values)})"
    return names.name(value)
