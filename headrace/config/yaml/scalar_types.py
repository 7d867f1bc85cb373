"""What a YAML scalar without quotes means."""

from __future__ import annotations

import re

_INT = re.compile(r"[-+]?(?:0o[0-7]+|0x[0-9a-fA-F]+|[0-9]+(?:_[0-9]+)*)")
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")


class WrittenInt(int):
    """A whole number that keeps the text that it was written as."""

    text: str


class WrittenFloat(float):
    """A number that keeps the text that it was written as."""

    text: str


def plain_value(text: str, *, filled: bool) -> object:
    """Return what a plain scalar means: YAML 1.2's numbers, `true`, `false` and nothing else.

    A password that happens to read `null` or `True` must arrive as it is, so a text from outside
    is never null, and only the lower-case words are booleans.
    """
    if text in {"", "~", "null", "Null", "NULL"} and not filled:
        return None
    if text in {"true", "false"}:
        return text == "true"
    if _INT.fullmatch(text) and len(text) < 1000:
        whole = WrittenInt(text, 0 if text.lstrip("+-")[:2] in {"0o", "0x"} else 10)
        whole.text = text
        return whole
    if _FLOAT.fullmatch(text):
        number = WrittenFloat(text)
        number.text = text
        return number
    return text
