"""What must hold between the keys of a stream."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.config.checks_hygiene import check_hygiene
from headrace.config.checks_kafka import (
    check_overrides,
    check_registry,
    check_source,
    columns_of,
    place_of,
    sources,
)
from headrace.config.checks_sinks import check_output_sink
from headrace.config.given import Given, given_by
from headrace.expressions.check import check_filter, check_projection
from headrace.expressions.tokens import tokens_of

if TYPE_CHECKING:
    from headrace.config.document import KeyPath
    from headrace.config.sheet import Sheet
    from headrace.expressions.columns import Columns
    from headrace.expressions.problem import ExpressionProblem
    from headrace.schema.model import Record


SINK_SCHEMA = "sink of "


def check_stream(sheet: Sheet) -> dict[str, Record]:
    """Report every contradiction in a stream; return the schemas of its source and its sinks."""
    schema, is_raw = check_source(sheet, ("source",))
    check_registry(sheet, ("source",))
    schemas = {} if schema is None else {"source": schema}
    columns = columns_of(schema, is_raw=is_raw)
    check_hygiene(sheet, columns)
    check_overrides(sheet)
    seen: dict[str, int] = {}
    for number, _ in enumerate(sheet.items("outputs")):
        path: KeyPath = ("outputs", number)
        _check_name(sheet, path, seen)
        _check_filter(sheet, (*path, "filter"), columns)
        given = _check_projection(sheet, (*path, "project"), columns)
        written = check_output_sink(sheet, (*path, "sink"), given)
        if written is not None:
            schemas[f"{SINK_SCHEMA}{sheet.text(*path, 'name')}"] = written
        _check_loop(sheet, (*path, "sink"))
    return schemas


def _check_name(sheet: Sheet, path: KeyPath, seen: dict[str, int]) -> None:
    name = sheet.text(*path, "name")
    if name is None:
        return
    if name in seen:
        line, _ = sheet.document.at(sheet.document.place(("outputs", seen[name], "name")).index)
        message = f"two outputs of the name {sheet.shown(*path, 'name')}"
        sheet.report((*path, "name"), message, f"the other is on line {line}")
    seen.setdefault(name, int(path[-1]))


def _check_loop(sheet: Sheet, path: KeyPath) -> None:
    target = place_of(sheet, path)
    for source, where in sources(sheet):
        if target is not None and source == target:
            message = (
                f"this output writes to the topic that the stream reads{where}: an endless loop"
            )
            sheet.report((*path, "topic"), message, "use another topic")
            return


def _check_filter(sheet: Sheet, path: KeyPath, columns: Columns) -> None:
    text = sheet.text(*path)
    if text is not None:
        for problem in check_filter(text, columns.record):
            report_expression(sheet, path, problem)


def _check_projection(sheet: Sheet, path: KeyPath, columns: Columns) -> Given | None:
    if sheet.document.get(*path) is None:
        record = columns.record
        return Given({field.name: field.type for field in record.fields}) if record else None
    written = sheet.items(*path)
    usable = [number for number, _ in enumerate(written) if sheet.text(*path, number) is not None]
    texts = [str(written[number]) for number in usable]
    projected, problems = check_projection(texts, columns.record)
    for number, problem in problems:
        report_expression(sheet, (*path, usable[number]), problem)
    secret = any(sheet.is_secret(*path, number) for number in usable)
    is_open = any(one.name == "*" for one in projected)
    if secret or len(usable) < len(written) or not written or is_open:
        return None
    # An item with a mistake in it may still be meant to give any of the names that it holds.
    meant = [
        token.text
        for number in {number for number, _ in problems}
        for token in tokens_of(texts[number])
        if token.is_name
    ]
    return given_by(projected, columns, meant)


def report_expression(sheet: Sheet, path: KeyPath, problem: ExpressionProblem) -> None:
    """Report at the very character, and without the expression's words where one is secret."""
    if sheet.is_secret(*path):
        message = "this is no usable expression once ${…} is filled in"
        sheet.report(path, message, "try it with the value in place of ${…}")
        return
    sheet.report(path, problem.message, problem.suggestion or "", offset=problem.offset)
