"""The columns that reach a sink, and whether they are what a schema asks for."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, TypeAlias

from headrace.config.lake_table.partitioning import COLUMN
from headrace.expressions.columns import KnownColumn
from headrace.problems import did_you_mean, nearest
from headrace.schema.fit import fits, missing, type_word

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from headrace.config.common.section import Section
    from headrace.expressions.columns import Columns
    from headrace.expressions.projection import Projected
    from headrace.schema.model import Record, Type


# By name; the type is None where it is not known before it runs.
OutputColumns: TypeAlias = "Mapping[str, Type | None]"

_PLAIN = re.compile(COLUMN, re.ASCII)


def projected_columns(
    projected: Iterable[Projected], columns: Columns, meant: Iterable[str]
) -> OutputColumns:
    """Return what a projection gives; `meant` are names that it may give once it is mended."""
    types = {one.name: _type_of(one.expression, columns) for one in projected}
    return types | {name: None for name in meant if name not in types}


def _type_of(expression: str, columns: Columns) -> Type | None:
    """Return the type of an expression that is a column by itself."""
    if not _PLAIN.fullmatch(expression):
        return None
    found = columns.find(expression.replace("`", "").split("."))
    return found.type if isinstance(found, KnownColumn) else None


def check_fits(
    named: Section, columns: OutputColumns, target: Record, what: str, *, as_json: bool
) -> None:
    """Report the columns that `what` asks for and does not get, or gets as another type."""
    absent = missing(columns, target)
    if absent:
        message = f"{what} needs columns that this output does not have: {', '.join(absent)}"
        named.report(message, _advice(absent[0], columns))
    for field in target.fields:
        kind = columns.get(field.name)
        if kind is not None and not fits(kind, field.type, as_json=as_json):
            message = (
                f'column "{field.name}" is {type_word(field.type)} in {what}, but '
                f"{type_word(kind)} in this output"
            )
            named.report(message, f'convert it in project: "… AS {field.name}"')
    known = [field.name for field in target.fields]
    more = [] if as_json else [name for name in columns if name not in known]
    for name in more:
        advice = did_you_mean(name, [one for one in known if one not in columns])
        message = f'{what} has no column "{name}", and format avro writes no other'
        named.report(message, advice or "remove it from project")


def _advice(name: str, columns: OutputColumns) -> str:
    near = nearest(name, columns)
    return f'add to project: "{near or "…"} AS {name}"' if near else f'add "{name}" to project'
