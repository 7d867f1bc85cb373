"""What must hold within and between the sources of an application.

Candidates have to give the same columns, as far as files tell.
"""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING

from headrace.config.common.check_hygiene import check_required
from headrace.config.common.check_kafka import check_source
from headrace.problems import did_you_mean
from headrace.schema.spark import to_spark

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from headrace.config.common.section import Section
    from headrace.config.kind_files import CheckedFile
    from headrace.expressions.columns import Columns
    from headrace.schema.model import Record

_ADVICE = "give them one schema: the application must run on either of them"
_MOST_NAMED = 5


def check_sources(app: Section) -> tuple[dict[str, Record], dict[str, Columns]]:
    """Check each source, and the sources together; return schemas and columns of the live ones."""
    schemas: dict[str, Record] = {}
    columns: dict[str, Columns] = {}
    for source in app.entries("sources"):
        match source.text("type"):
            case "kafka":
                schema, columns[source.name] = check_source(source)
                check_required(source.at("hygiene", "required"), columns[source.name])
                if schema is not None:
                    schemas[source.name] = schema
            case "iceberg":
                source.check_catalog("catalog")
            case "dynamic":
                _check_dynamic(source)
            case "hybrid":
                _check_halves(source)
    _check_cycles(app)
    _report_differences(app, schemas)
    return schemas, columns


def _check_dynamic(source: Section) -> None:
    names = source.file.mapping("sources")
    candidates: list[str] = []
    for one in source.each("candidates"):
        candidate = one.text()
        if candidate is None:
            continue
        if candidate in candidates:
            one.report(f"{one.shown()} is listed twice", "remove one")
        elif candidate not in names:
            others = [name for name in names if name != source.name]
            one.report_unknown(f"no source is named {one.shown()}", others)
        candidates.append(candidate)
    chosen = source.at("selected")
    selected = chosen.text()
    if selected is not None and source.items("candidates") and selected not in candidates:
        message = f"selected {chosen.shown()} is not among the candidates"
        hidden = chosen.is_secret() or any(one.is_secret() for one in source.each("candidates"))
        chosen.report(message, "" if hidden else did_you_mean(selected, candidates))


def _check_cycles(app: Section) -> None:
    """Report each circle of dynamic sources once, at the source of it that the file names first."""
    leads = {
        source.name: [
            candidate for one in source.each("candidates") if (candidate := one.text()) is not None
        ]
        for source in app.entries("sources")
        if source.text("type") == "dynamic"
    }
    reported: set[str] = set()
    for name in leads:
        circle = _circle(name, leads)
        if circle and not reported & set(circle):
            reported |= set(circle)
            names = " → ".join([*circle, circle[0]])
            message = f'source "{name}" leads back to itself: {names}'
            app.at("sources", name, "candidates").report(message, "break the circle")


def _circle(start: str, leads: dict[str, list[str]]) -> list[str]:
    """Return the shortest path from a source to itself, nothing where there is none."""
    paths, seen = [[start]], {start}
    # The list grows meanwhile, so shorter paths come first.
    for path in paths:
        for following in leads.get(path[-1], ()):
            if following == start:
                return path
            if following not in seen:
                seen.add(following)
                paths.append([*path, following])
    return []


def _check_halves(source: Section) -> None:
    """Report halves of a hybrid source that are not a table and topics."""
    types = {one.name: one.text("type") for one in source.file.entries("sources")}
    for half, wanted in (("past", "iceberg"), ("live", "kafka")):
        named = source.at(half)
        name = named.text()
        if name is None:
            continue
        if name not in types:
            named.report_unknown(f"no source is named {named.shown()}", types)
        elif types[name] != wanted:
            fitting = [one for one, kind in types.items() if kind == wanted]
            message = f"{half} must be a source of type {wanted}, and {named.shown()} is not"
            advice = f"of that type: {', '.join(fitting)}" if fitting else "add one under sources:"
            named.report(message, advice)


def check_landed(files: Sequence[CheckedFile]) -> None:
    """Report candidates that are tables which a file of the workspace fills by another schema."""
    landed = {
        _table(one.file.at("table")): one.schemas["source"]
        for one in files
        if one.kind == "lake_table" and "source" in one.schemas
    }
    for one in files:
        if one.kind == "app":
            sources = one.file.entries("sources")
            tables = {source.name: landed.get(_table(source)) for source in sources}
            known = {name: found for name, found in tables.items() if found is not None}
            _report_differences(one.file, {**one.schemas, **known}, only_with=known)


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


def _report_differences(
    app: Section, schemas: Mapping[str, Record], only_with: Mapping[str, Record] | None = None
) -> None:
    for source in app.entries("sources"):
        known = {
            name: one
            for one in source.each("candidates")
            if (name := one.text()) is not None and name in schemas and not one.is_secret()
        }
        for one, other in combinations(known, 2):
            is_reported = only_with is not None and not {one, other} & only_with.keys()
            found = list(differences(schemas[one], schemas[other], (one, other)))
            if found and not is_reported:
                more = f"; {len(found) - _MOST_NAMED} more" if len(found) > _MOST_NAMED else ""
                differing = "; ".join(found[:_MOST_NAMED]) + more
                message = f'"{one}" and "{other}" have different columns: {differing}'
                known[other].report(message, _ADVICE)
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


def _table(named: Section) -> tuple[object, ...]:
    return tuple(named.value(key) for key in ("catalog", "database", "table"))
