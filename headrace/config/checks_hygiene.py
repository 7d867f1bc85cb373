"""What must hold between hygiene and the schema that it is about."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic_core import PydanticCustomError

from headrace.config.checks_kafka import place_of, sources
from headrace.config.scalars import scalar_text
from headrace.contract import METADATA
from headrace.expressions.columns import Missing
from headrace.records.bounds import parse_bound, wanted_bound
from headrace.records.masks import can_be_masked
from headrace.records.paths import find_column
from headrace.schema.fit import type_word
from headrace.schema.model import Primitive

if TYPE_CHECKING:
    from headrace.config.document import KeyPath
    from headrace.config.sheet import Sheet
    from headrace.expressions.columns import Columns
    from headrace.records.bounds import Bound
    from headrace.schema.model import Type

_CONVERTED = {
    Primitive.BOOLEAN,
    Primitive.INT,
    Primitive.LONG,
    Primitive.FLOAT,
    Primitive.DOUBLE,
    Primitive.STRING,
    Primitive.UUID,
}
_JSON_ONLY = {
    "coerce": "values of another format have their types",
    "unknown_fields": "another format has none",
}


def check_hygiene(sheet: Sheet, columns: Columns) -> None:
    """Check that the rules' columns exist and have types for them, and where bad records go."""
    required: KeyPath = ("hygiene", "required")
    if sheet.mapping(*required):
        required = (*required, "columns")
    check_required(sheet, required, columns)
    for name in sheet.mapping("hygiene", "ranges"):
        _check_range(sheet, ("hygiene", "ranges", name), columns)
    for number, _ in enumerate(sheet.items("hygiene", "coerce")):
        _check_coercion(sheet, ("hygiene", "coerce", number), columns)
    for name in sheet.mapping("hygiene", "mask"):
        _check_mask(sheet, ("hygiene", "mask", name), columns)
    _check_json_only(sheet)
    _check_quarantine(sheet)


def check_required(sheet: Sheet, path: KeyPath, columns: Columns) -> None:
    """Check that the columns exist which a list says are required."""
    for number, _ in enumerate(sheet.items(*path)):
        _column(sheet, (*path, number), columns)


def _column(
    sheet: Sheet, path: KeyPath, columns: Columns, *, key: bool = False, within: bool = False
) -> Type | None:
    """Return the type of a column that a rule names, None where it is not there or not known.

    `within` allows one in the items of a list or the values of a map.
    """
    name = str(path[-1]) if key else sheet.text(*path)
    if name is None:
        return None
    shown = f'"{name}"' if key else sheet.shown(*path)
    if name.casefold().split(".")[0] == METADATA:
        message = f"{shown} is not the record's own: hygiene is about the columns of the schema"
        sheet.report(path, message, "use a filter", key=key)
        return None
    found = columns.find(name.split("."))
    if isinstance(found, Missing):
        is_open = key or not sheet.is_secret(*path)
        message = f"the schema has no column {shown}"
        sheet.report(path, message, found.suggestion if is_open else "", key=key)
        return None
    if columns.record is not None and not within and find_column(columns.record, name) is None:
        message = f"{shown} is within a list or a map, where this rule does not look"
        sheet.report(path, message, "name the list or the map itself", key=key)
        return None
    return found.type


def _check_range(sheet: Sheet, path: KeyPath, columns: Columns) -> None:
    limits = sheet.mapping(*path)
    if sheet.document.get(*path) == limits and not {"min", "max"} & set(limits):
        message = f'the range of "{path[-1]}" has neither min nor max'
        sheet.report(path, message, "add one of them", key=True)
    kind = _column(sheet, path, columns, key=True)
    if kind is None:
        return
    wanted = wanted_bound(kind)
    if wanted is None:
        message = f'"{path[-1]}" is of type {type_word(kind)}: a range is for numbers and times'
        sheet.report(path, message, "use required, or a filter", key=True)
        return
    bounds = [_bound(sheet, (*path, word), kind, wanted) for word in ("min", "max")]
    if None not in bounds and bounds[0] > bounds[1]:  # type: ignore[operator]  # both are there
        message = f"max {sheet.shown(*path, 'max')} is below min {sheet.shown(*path, 'min')}"
        sheet.report((*path, "max"), message, "no record could pass: exchange the two")


def _bound(sheet: Sheet, path: KeyPath, kind: Type, wanted: str) -> Bound | None:
    value = sheet.document.get(*path)
    if value is None or path in sheet.document.unusable:
        return None
    try:
        bound = parse_bound(scalar_text(value), kind)
    except PydanticCustomError:
        return None  # the model reports it
    if bound is None:
        reason = f'"{path[-2]}" is of type {type_word(kind)}'
        sheet.report(path, f"expected {wanted}, got {sheet.shown(*path)}: {reason}")
    return bound


def _check_coercion(sheet: Sheet, path: KeyPath, columns: Columns) -> None:
    kind = _column(sheet, path, columns)
    if kind is not None and kind not in _CONVERTED:
        message = f"{sheet.shown(*path)} is of type {type_word(kind)}, which is not converted"
        sheet.report(path, message, "only texts, numbers and booleans are")


def _check_mask(sheet: Sheet, path: KeyPath, columns: Columns) -> None:
    setting = sheet.mapping(*path)
    if sheet.document.get(*path) == setting and len({"sha256", "keep_first"} & set(setting)) != 1:
        message = f'the mask of "{path[-1]}" needs exactly one of sha256 and keep_first'
        sheet.report(path, message, "or write sha256, or redact", key=True)
    kind = _column(sheet, path, columns, key=True, within=True)
    hashed = sheet.text(*path) == "sha256" or "sha256" in setting
    if kind is not None and not can_be_masked(kind, hashed=hashed):
        message = f'"{path[-1]}" is of type {type_word(kind)}, which has no masked form'
        sheet.report(path, message, _advice_on_masks(kind), key=True)


def _advice_on_masks(kind: Type) -> str:
    if can_be_masked(kind, hashed=True):
        return "bytes can be hashed: sha256"
    return "texts can be masked; leave another column out of project"


def _check_json_only(sheet: Sheet) -> None:
    form = sheet.text("source", "format")
    for key, reason in _JSON_ONLY.items():
        if form in {"avro", "raw"} and key in sheet.mapping("hygiene"):
            message = f"{key} is for format json: {reason}"
            sheet.report(("hygiene", key), message, "remove it", key=True)


def _check_quarantine(sheet: Sheet) -> None:
    """Check that bad records do not go where they come from."""
    if not sheet.mapping("hygiene", "quarantine"):
        return
    sheet.check_cluster("hygiene", "quarantine", "cluster")
    target = place_of(sheet, ("hygiene", "quarantine"))
    for source, where in sources(sheet):
        if target is not None and source == target:
            message = (
                f"the quarantine topic is the source's own{where}: bad records would come back"
            )
            place = ("hygiene", "quarantine", "topic")
            sheet.report(place, message, "use another topic")
            break
