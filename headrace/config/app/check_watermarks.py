"""What must hold between an application's watermarks and its sources."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from headrace.expressions.columns import Columns, UnknownColumn
from headrace.problems import did_you_mean
from headrace.schema.model import Primitive

if TYPE_CHECKING:
    from collections.abc import Iterator

    from headrace.config.common.section import Section
    from headrace.schema.model import Type

_INSTANTS: Final = {Primitive.TIMESTAMP_MILLIS, Primitive.TIMESTAMP_MICROS}


def check_watermarks(app: Section, columns: dict[str, Columns]) -> None:
    """Report watermarks of what is no source, and of columns that no watermark can be of."""
    names = app.mapping("sources")
    for watermark in app.entries("watermarks"):
        name = watermark.name
        if name not in names:
            message = f'a watermark for "{name}", which is not a source'
            watermark.report(message, did_you_mean(name, names), key=True)
            continue
        if "on_ahead" in watermark.mapping() and "max_ahead" not in watermark.mapping():
            message = "on_ahead has no effect without max_ahead"
            watermark.at("on_ahead").report(message, "add max_ahead: 10min", key=True)
        for live in _behind(app, name, set()):
            if live in columns and not _fits(watermark, live, columns[live]):
                break


def _fits(watermark: Section, live: str, columns: Columns) -> bool:
    """Whether a watermark can be of its column in that source; reported where it cannot."""
    column = watermark.at("column")
    name = column.text()
    if not name:
        return True
    found = columns.find(name.split("."))
    if isinstance(found, UnknownColumn):
        message = f'source "{live}" has no column {column.shown()}'
        column.report(message, "" if column.is_secret() else found.suggestion)
        return False
    if "max_ahead" in watermark.mapping() and not _is_instant(name, found.type):
        message = f"max_ahead is for a column of a timestamp type, and {column.shown()} is not"
        column.report(message, "name a column of timestamp-millis or timestamp-micros")
        return False
    return True


def _is_instant(column: str, kind: Type | None) -> bool:
    return kind is None or ("." not in column and kind in _INSTANTS)


def _behind(app: Section, name: str, seen: set[str]) -> Iterator[str]:
    """Give the sources that a name can stand for."""
    if name in seen:
        return
    seen.add(name)
    yield name
    source = app.at("sources", name)
    half = source.text("live")
    if half is not None:
        yield half
    for one in source.each("candidates"):
        candidate = one.text()
        if candidate is not None:
            yield from _behind(app, candidate, seen)
