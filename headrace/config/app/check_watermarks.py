"""What must hold between an application's watermarks and its sources."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from headrace.config.problems import did_you_mean
from headrace.expressions.columns import Columns, Missing
from headrace.schema.model import Primitive

if TYPE_CHECKING:
    from collections.abc import Iterator

    from headrace.config.sheet import Sheet
    from headrace.schema.model import Type

_INSTANTS: Final = {Primitive.TIMESTAMP_MILLIS, Primitive.TIMESTAMP_MICROS}


def check_watermarks(sheet: Sheet, columns: dict[str, Columns]) -> None:
    """Report watermarks of what is no source, and of columns that no watermark can be of."""
    names = sheet.mapping("sources")
    for name in sheet.mapping("watermarks"):
        if name not in names:
            suggestion = did_you_mean(name, names)
            message = f'a watermark for "{name}", which is no source'
            sheet.report(("watermarks", name), message, suggestion, key=True)
            continue
        path = ("watermarks", name)
        if "on_ahead" in sheet.mapping(*path) and "max_ahead" not in sheet.mapping(*path):
            message = "on_ahead without max_ahead: nothing is too far ahead"
            sheet.report((*path, "on_ahead"), message, "add max_ahead: 10min", key=True)
        for live in _behind(sheet, name, set()):
            if live in columns and _reported(sheet, name, live, columns[live]):
                break


def _reported(sheet: Sheet, name: str, live: str, columns: Columns) -> bool:
    path = ("watermarks", name, "column")
    column = sheet.text(*path)
    if not column:
        return False
    found = columns.find(column.split("."))
    shown = sheet.shown(*path)
    if isinstance(found, Missing):
        message = f'source "{live}" has no column {shown}'
        sheet.report(path, message, "" if sheet.is_secret(*path) else found.suggestion)
        return True
    bounded = "max_ahead" in sheet.mapping("watermarks", name)
    if bounded and not _is_instant(column, found.type):
        message = f"max_ahead is for a column of a timestamp type, and {shown} is none"
        sheet.report(path, message, "name a column of timestamp-millis or timestamp-micros")
        return True
    return False


def _is_instant(column: str, kind: Type | None) -> bool:
    return kind is None or ("." not in column and kind in _INSTANTS)


def _behind(sheet: Sheet, name: str, seen: set[str]) -> Iterator[str]:
    """Give the sources that a name can stand for."""
    if name in seen:
        return
    seen.add(name)
    yield name
    half = sheet.text("sources", name, "live")
    if half is not None:
        yield half
    for number, _ in enumerate(sheet.items("sources", name, "candidates")):
        candidate = sheet.text("sources", name, "candidates", number)
        if candidate is not None:
            yield from _behind(sheet, candidate, seen)
