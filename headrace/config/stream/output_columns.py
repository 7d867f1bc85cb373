"""The columns that reach a sink, and whether they are what a schema asks for."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from headrace.config.problems import did_you_mean, nearest
from headrace.expressions.columns import Found
from headrace.schema.fit import fits, type_word

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from headrace.config.document import KeyPath
    from headrace.config.sheet import Sheet
    from headrace.expressions.columns import Columns
    from headrace.expressions.projection import Projected
    from headrace.schema.model import Field, Record, Type

_PART = r"(?:[A-Za-z_]\w*|`[^`]+`)"
_PLAIN = re.compile(rf"{_PART}(?:\.{_PART})*", re.ASCII)


@dataclass(frozen=True, slots=True)
class Given:
    """An output's columns by name; the type is None where it is not known before it runs."""

    types: Mapping[str, Type | None]

    @property
    def names(self) -> tuple[str, ...]:
        """The columns in their order."""
        return tuple(self.types)


def given_by(projected: Iterable[Projected], columns: Columns, meant: Iterable[str]) -> Given:
    """Return what a projection gives; `meant` are names that it may give once it is mended."""
    types = {one.name: _type_of(one.expression, columns) for one in projected}
    return Given(types | {name: None for name in meant if name not in types})


def _type_of(expression: str, columns: Columns) -> Type | None:
    """Return the type of an expression that is a column by itself."""
    if not _PLAIN.fullmatch(expression):
        return None
    found = columns.find(expression.replace("`", "").split("."))
    return found.type if isinstance(found, Found) else None


def check_fits(  # noqa: PLR0913 - what is compared, and where it stands
    sheet: Sheet, path: KeyPath, given: Given, target: Record, what: str, *, as_json: bool
) -> None:
    """Report the columns that `what` asks for and does not get, or gets as another type."""
    missing = [field.name for field in target.fields if _is_missing(field, given)]
    if missing:
        message = f"{what} needs columns that this output does not have: {', '.join(missing)}"
        sheet.report(path, message, _advice(missing[0], given))
    for field in target.fields:
        kind = given.types.get(field.name)
        if kind is not None and not fits(kind, field.type, as_json=as_json):
            message = (
                f'{what} has the column "{field.name}" as {type_word(field.type)}, '
                f"and this output as {type_word(kind)}"
            )
            sheet.report(path, message, f'convert it in project: "… AS {field.name}"')
    known = [field.name for field in target.fields]
    more = [] if as_json else [name for name in given.types if name not in known]
    for name in more:
        advice = did_you_mean(name, [one for one in known if one not in given.types])
        message = f'{what} has no column "{name}", and format avro writes no other'
        sheet.report(path, message, advice or "leave it out of project")


def _is_missing(field: Field, given: Given) -> bool:
    return field.name not in given.types and not field.nullable and field.default is None


def _advice(name: str, given: Given) -> str:
    near = nearest(name, given.names)
    return f'add to project: "{near or "…"} AS {name}"' if near else f'add "{name}" to project'
