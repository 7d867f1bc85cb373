"""What must hold between the keys of a stream."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.config.common.check_hygiene import check_hygiene
from headrace.config.common.check_kafka import check_no_loop, check_overrides, check_source
from headrace.config.stream.check_sinks import check_output_sink
from headrace.config.stream.output_columns import projected_columns
from headrace.contract import QUARANTINE
from headrace.expressions.projection import check_filter, check_projection
from headrace.expressions.tokens import tokens_of

if TYPE_CHECKING:
    from headrace.config.common.section import Section
    from headrace.config.stream.output_columns import OutputColumns
    from headrace.expressions.columns import Columns
    from headrace.schema.model import Record

SINK_SCHEMA = "sink of "
_LOOP = "this output writes to the topic that the stream reads{where}: an endless loop"


def check_stream(stream: Section) -> dict[str, Record]:
    """Report every contradiction in a stream; return the schemas of its source and its sinks."""
    schema, columns = check_source(stream.at("source"))
    schemas = {} if schema is None else {"source": schema}
    check_hygiene(stream, columns)
    check_overrides(stream)
    seen: dict[str, Section] = {}
    for output in stream.each("outputs"):
        _check_name(output.at("name"), seen)
        _check_filter(output.at("filter"), columns)
        outgoing = _check_projection(output.at("project"), columns)
        written = check_output_sink(output.at("sink"), outgoing)
        if written is not None:
            schemas[f"{SINK_SCHEMA}{output.text('name')}"] = written
        check_no_loop(output.at("sink"), _LOOP)
        _check_delivery(output)
    return schemas


def _check_name(name: Section, seen: dict[str, Section]) -> None:
    text = name.text()
    if text is None:
        return
    if text == QUARANTINE:
        message = f"the name {name.shown()} stands for the stream's rejected records"
        name.report(message, "give the output another name")
    first = seen.setdefault(text, name)
    if first is not name:
        message = f"two outputs have the name {name.shown()}"
        name.report(message, f"the other is on line {first.line}")


def _check_delivery(output: Section) -> None:
    kind = output.at("sink").at("type").text()
    if output.at("delivery").text() is not None and kind in {"iceberg", "search"}:
        output.at("delivery").report(
            f"a sink of type {kind} has no choice of delivery",
            "remove the key: a batch that is repeated "
            + ("is in the table once" if kind == "iceberg" else "overwrites its own documents"),
        )


def _check_filter(condition: Section, columns: Columns) -> None:
    text = condition.text()
    if text is not None:
        for problem in check_filter(text, columns.record):
            condition.report_expression(problem)


def _check_projection(project: Section, columns: Columns) -> OutputColumns | None:
    """Return the columns that an output has, None where they are not known."""
    if project.value() is None:
        record = columns.record
        return None if record is None else {field.name: field.type for field in record.fields}
    written = list(project.each())
    usable = [one for one in written if one.text() is not None]
    texts = [one.text() or "" for one in usable]
    projected, problems = check_projection(texts, columns.record)
    for number, problem in problems:
        usable[number].report_expression(problem)
    secret = any(one.is_secret() for one in usable)
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
    return projected_columns(projected, columns, meant)
