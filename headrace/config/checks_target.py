"""What must hold where an output goes to another stream: it is one, it fits, there is no circle."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from headrace.config.checks_kafka import check_named, load_schema, place_of, sources
from headrace.config.given import Given, check_fits
from headrace.config.problems import absolute
from headrace.config.read import read_document
from headrace.config.sheet import Sheet

if TYPE_CHECKING:
    from collections.abc import Iterator

    from headrace.config.document import KeyPath


def check_target(sheet: Sheet, path: KeyPath, given: Given | None) -> None:
    """Check a sink of type stream; `given` are the columns that reach it."""
    if given is not None:
        check_named(sheet, (*path, "key"), "key", given.names)
    place = (*path, "stream")
    target = _stream_named(sheet, place)
    if target is None:
        return
    if target.document.get("kind") != "stream":
        message = f"{sheet.shown(*place)} is no stream"
        sheet.report(place, message, "name a file that begins with kind: stream")
        return
    circle = _circle(sheet, target)
    if circle:
        message = f"this output ends up in its own stream: {' → '.join(circle)}"
        sheet.report(place, message, "break the circle")
    elif given is not None:
        _check_columns(sheet, place, given, target)


def _stream_named(sheet: Sheet, path: KeyPath) -> Sheet | None:
    place = sheet.find_file(*path)
    if place is None:
        return None
    root = sheet.known.root
    return Sheet(read_document(absolute(place), [root] if root else []), sheet.known)


def _check_columns(sheet: Sheet, path: KeyPath, given: Given, target: Sheet) -> None:
    what = f"the stream {sheet.shown(*path)}"
    form = target.text("source", "format")
    if form == "raw":
        if "value" not in given.types:
            message = f"{what} reads the bytes value, which this output does not have"
            sheet.report(path, message, 'project an expression "… AS value"')
        return
    # What is wrong with the other file is told when that one is checked.
    schema = load_schema(target, ("source", "schema"))
    if schema is not None:
        check_fits(sheet, path, given, schema, what, as_json=form == "json")


def _circle(sheet: Sheet, target: Sheet) -> list[str]:
    """Return the streams on the shortest way from a stream's sink back to it, none if none."""
    own = {source for source, _ in sources(sheet)}
    ways = [([_name(sheet), _name(target)], target)]
    seen = {_identity(sheet)}
    while ways:
        names, here = ways.pop(0)
        if _identity(here) == _identity(sheet) or place_of(here, ("source",)) in own:
            return names
        if _identity(here) in seen:
            continue
        seen.add(_identity(here))
        for path in _sinks(here):
            if place_of(here, path) in own:
                return [*names, _name(sheet)]
            following = _stream_named(here, (*path, "stream"))
            if following is not None:
                ways.append(([*names, _name(following)], following))
    return []


def _sinks(sheet: Sheet) -> Iterator[KeyPath]:
    for number, _ in enumerate(sheet.items("outputs")):
        yield ("outputs", number, "sink")


def _identity(sheet: Sheet) -> str:
    return os.path.realpath(sheet.document.path)


def _name(sheet: Sheet) -> str:
    """Return a stream's name, the file's where the name is not for showing."""
    name = sheet.text("name")
    return sheet.document.path.stem if name is None or sheet.is_secret("name") else name
