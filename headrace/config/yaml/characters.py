"""From a character of a scalar's value back to the character of the file that wrote it."""

from __future__ import annotations

import re

_PROPERTIES = re.compile(r"(?:[&!]\S*\s+)*")
_ESCAPE_LENGTH = {"x": 4, "u": 6, "U": 10}


def source_index(source: str, start: int, value: str, offset: int) -> int:
    """Return the index in `source` of `value[offset]`, for the scalar that begins at `start`.

    Folding only changes white space, so both texts are walked side by side, and white space may
    differ. Where they part ways all the same, the answer is the scalar's start.
    """
    properties = _PROPERTIES.match(source, start)
    begin = properties.end() if properties else start
    style = source[begin : begin + 1]
    at = begin
    if style in {"|", ">"}:
        newline = source.find("\n", begin)
        at = len(source) if newline < 0 else newline + 1
    elif style in {"'", '"'}:
        at = begin + 1
    else:
        style = ""
    for character in value[:offset]:
        after = _past(source, at, character, style)
        if after is None:
            return begin
        at = after
    return _skip(source, at, style, value[offset : offset + 1]) if offset < len(value) else at


def _past(source: str, at: int, character: str, style: str) -> int | None:
    """Return the index after the one character, None where the source has another."""
    if character.isspace():
        return at + 1 if source[at : at + 1] == character else at
    at = _skip(source, at, style, character)
    here = source[at : at + 1]
    if style == '"' and here == "\\":
        return at + _ESCAPE_LENGTH.get(source[at + 1 : at + 2], 2)
    if here != character:
        return None
    return at + (2 if style == "'" and character == "'" else 1)


def _skip(source: str, at: int, style: str, character: str) -> int:
    """Return the index of the next character that is not white space of the file's own layout."""
    while not character.isspace() and at < len(source):
        if source[at].isspace():
            at += 1
        elif style == '"' and source.startswith("\\\n", at):
            at += 2
        else:
            break
    return at
