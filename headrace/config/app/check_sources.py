"""Whether the candidates of a source give the same columns, as far as files tell."""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING

from headrace.schema.spark import to_spark

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from headrace.config.document import Document, KeyPath
    from headrace.config.kinds import Examined
    from headrace.config.sheet import Sheet
    from headrace.schema.model import Record

_ADVICE = "let them have one schema: the application is to run on either"
_MOST_NAMED = 5


def check_candidates(sheet: Sheet, schemas: Mapping[str, Record]) -> None:
    """Report candidates of this file whose schemas differ."""
    _report(sheet.document, schemas)


def check_halves(sheet: Sheet, path: KeyPath) -> None:
    """Report halves of a hybrid source that are not a table and topics."""
    names = sheet.mapping("sources")
    for half, wanted in (("past", "iceberg"), ("live", "kafka")):
        name = sheet.text(*path, half)
        if name is None:
            continue
        if name not in names:
            sheet.unknown((*path, half), f"no source is named {sheet.shown(*path, half)}", names)
        elif sheet.text("sources", name, "type") != wanted:
            fitting = [one for one in names if sheet.text("sources", one, "type") == wanted]
            message = f"{half} is a source of type {wanted}, and {sheet.shown(*path, half)} is none"
            advice = f"of that type: {', '.join(fitting)}" if fitting else "add one under sources:"
            sheet.report((*path, half), message, advice)


def check_landed(files: Sequence[Examined]) -> None:
    """Report candidates that are tables which a file of the workspace fills by another schema."""
    landed: dict[tuple[object, ...], Record] = {}
    for one in files:
        if one.kind == "lake_table" and "source" in one.schemas:
            landed[_table(one.document, "table")] = one.schemas["source"]
    for one in files:
        sources = one.document.get("sources")
        if one.kind == "app" and isinstance(sources, dict):
            tables = {name: landed.get(_table(one.document, "sources", name)) for name in sources}
            known = {name: found for name, found in tables.items() if found is not None}
            _report(one.document, {**one.schemas, **known}, only_with=known)


def differences(one: Record, other: Record, names: tuple[str, str]) -> Iterator[str]:
    """Say in which columns two schemas differ."""
    left, right = _columns(one), _columns(other)
    for column in dict.fromkeys([*left, *right]):
        if column not in right:
            yield f"{column} is in {names[0]} only"
        elif column not in left:
            yield f"{column} is in {names[1]} only"
        elif left[column] != right[column]:
            yield f"{column} is {left[column]} in {names[0]} and {right[column]} in {names[1]}"
    if list(left) != list(right) and left.keys() == right.keys():
        yield f"their order is {', '.join(left)} in {names[0]} and {', '.join(right)} in {names[1]}"


def _report(
    document: Document, schemas: Mapping[str, Record], only_with: Mapping[str, Record] | None = None
) -> None:
    sources = document.get("sources")
    for name in sources if isinstance(sources, dict) else ():
        path = ("sources", name, "candidates")
        listed = document.get(*path)
        known = {
            one: (*path, number)
            for number, one in enumerate(listed if isinstance(listed, list) else ())
            if one in schemas and not document.place((*path, number)).secret
        }
        for one, other in combinations(known, 2):
            is_told = only_with is not None and one not in only_with and other not in only_with
            found = list(differences(schemas[one], schemas[other], (one, other)))
            if found and not is_told:
                more = f"; {len(found) - _MOST_NAMED} more" if len(found) > _MOST_NAMED else ""
                told = "; ".join(found[:_MOST_NAMED]) + more
                message = f'"{one}" and "{other}" have different columns: {told}'
                document.report(known[other], message, _ADVICE)
                break


def _columns(record: Record) -> dict[str, str]:
    fields = to_spark(record)["fields"]
    found = {}
    for field in fields if isinstance(fields, list) else ():
        may = "" if field["nullable"] else " not null"
        found[str(field["name"])] = f"{_shown(field['type'])}{may}"
    return found


def _shown(kind: object) -> str:
    """Return a type of Spark's as people write it."""
    if not isinstance(kind, dict):
        return str(kind)
    match kind["type"]:
        case "struct":
            inner = (
                f"{f['name']}: {_shown(f['type'])}{_null(f['nullable'])}" for f in kind["fields"]
            )
            return f"struct<{', '.join(inner)}>"
        case "array":
            return f"array<{_shown(kind['elementType'])}{_null(kind['containsNull'])}>"
        case _:
            return f"map<string, {_shown(kind['valueType'])}{_null(kind['valueContainsNull'])}>"


def _null(may_be: object) -> str:
    return "" if may_be else " not null"


def _table(document: Document, *path: str | int) -> tuple[object, ...]:
    return tuple(document.get(*path, key) for key in ("catalog", "database", "table"))
