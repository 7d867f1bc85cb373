"""What must hold between hygiene and the schema that it is about."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic_core import PydanticCustomError

from headrace.config.common.check_kafka import check_no_loop
from headrace.config.common.scalars import scalar_text
from headrace.contract import METADATA
from headrace.expressions.columns import UnknownColumn
from headrace.records.hygiene.bounds import parse_bound, wanted_bound
from headrace.records.hygiene.masks import can_be_masked
from headrace.records.hygiene.rules import find_column
from headrace.schema.fit import type_word
from headrace.schema.model import Primitive

if TYPE_CHECKING:
    from headrace.config.common.section import Section
    from headrace.expressions.columns import Columns
    from headrace.records.hygiene.bounds import Bound
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
_READ_AGAIN = (
    "the quarantine topic is the source topic{where}: rejected records would be read again"
)
_JSON_ONLY = {
    "coerce": "values of other formats already have types",
    "unknown_fields": "other formats have no such fields",
}


def check_hygiene(file: Section, columns: Columns) -> None:
    """Check that the rules' columns exist and have types for them, and where rejected records go."""
    hygiene = file.at("hygiene")
    required = hygiene.at("required")
    check_required(required.at("columns") if required.mapping() else required, columns)
    for limits in hygiene.entries("ranges"):
        _check_range(limits, columns)
    for column in hygiene.each("coerce"):
        _check_coercion(column, columns)
    for mask in hygiene.entries("mask"):
        _check_mask(mask, columns)
    _check_json_only(hygiene)
    hygiene.check_cluster("quarantine", "cluster")
    check_no_loop(hygiene.at("quarantine"), _READ_AGAIN)


def check_required(required: Section, columns: Columns) -> None:
    """Check that the columns exist which a list says are required."""
    for column in required.each():
        _column(column, columns)


def _column(
    rule: Section, columns: Columns, *, key: bool = False, within: bool = False
) -> Type | None:
    """Return the type of a column that a rule names, None where it is not there or not known.

    `within` allows one in the items of a list or the values of a map.
    """
    name = rule.name if key else rule.text()
    if name is None:
        return None
    shown = f'"{name}"' if key else rule.shown()
    if name.casefold().split(".")[0] == METADATA:
        message = f"{shown} is not a column of the schema, and hygiene checks only those"
        rule.report(message, "use a filter", key=key)
        return None
    found = columns.find(name.split("."))
    if isinstance(found, UnknownColumn):
        is_open = key or not rule.is_secret()
        message = f"the schema has no column {shown}"
        rule.report(message, found.suggestion if is_open else "", key=key)
        return None
    if columns.record is not None and not within and find_column(columns.record, name) is None:
        message = f"{shown} is inside a list or a map, and this rule does not check those"
        rule.report(message, "name the list or the map itself", key=key)
        return None
    return found.type


def _check_range(limits: Section, columns: Columns) -> None:
    if isinstance(limits.value(), dict) and not {"min", "max"} & limits.mapping().keys():
        message = f'the range of "{limits.name}" has neither min nor max'
        limits.report(message, "add one of them", key=True)
    kind = _column(limits, columns, key=True)
    if kind is None:
        return
    wanted = wanted_bound(kind)
    if wanted is None:
        message = f'"{limits.name}" is of type {type_word(kind)}: a range is for numbers and times'
        limits.report(message, "use required, or a filter", key=True)
        return
    least, most = (_bound(limits, word, kind, wanted) for word in ("min", "max"))
    if least is not None and most is not None and least > most:
        message = f"max {limits.shown('max')} is below min {limits.shown('min')}"
        limits.at("max").report(message, "no record could pass: swap the two")


def _bound(limits: Section, word: str, kind: Type, wanted: str) -> Bound | None:
    written = limits.at(word)
    value = written.value()
    if value is None or written.path in written.document.unusable:
        return None
    try:
        bound = parse_bound(scalar_text(value), kind)
    except PydanticCustomError:
        return None  # the model reports it
    if bound is None:
        reason = f'"{limits.name}" is of type {type_word(kind)}'
        written.report(f"expected {wanted}, got {written.shown()}: {reason}")
    return bound


def _check_coercion(column: Section, columns: Columns) -> None:
    kind = _column(column, columns)
    if kind is not None and kind not in _CONVERTED:
        message = f"{column.shown()} is of type {type_word(kind)}, which cannot be converted"
        column.report(message, "only texts, numbers and booleans can be converted")


def _check_mask(mask: Section, columns: Columns) -> None:
    setting = mask.mapping()
    if isinstance(mask.value(), dict) and len({"sha256", "keep_first"} & setting.keys()) != 1:
        message = f'the mask of "{mask.name}" needs exactly one of sha256 and keep_first'
        mask.report(message, "give one of them, or write sha256 or redact", key=True)
    kind = _column(mask, columns, key=True, within=True)
    hashed = mask.text() == "sha256" or "sha256" in setting
    if kind is not None and not can_be_masked(kind, hashed=hashed):
        message = f'"{mask.name}" is of type {type_word(kind)}, which cannot be masked'
        advice = "only texts can be masked; remove the column from project instead"
        if can_be_masked(kind, hashed=True):
            advice = "bytes can only be hashed: sha256"
        mask.report(message, advice, key=True)


def _check_json_only(hygiene: Section) -> None:
    form = hygiene.file.text("source", "format")
    for key, reason in _JSON_ONLY.items():
        if form in {"avro", "raw"} and key in hygiene.mapping():
            message = f"{key} is for format json: {reason}"
            hygiene.at(key).report(message, "remove it", key=True)
