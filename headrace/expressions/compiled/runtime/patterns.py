"""Regular expressions at run time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.expressions.compiled.runtime.texts import LONGEST_RESULT, bounded

if TYPE_CHECKING:
    import re


def replaced(regex: re.Pattern[str], template: str, text: str) -> str:
    """Return regexp_replace()."""
    if len(text) * (len(template) + 1) * (1 + regex.groups) > LONGEST_RESULT:
        found = sum(len(one.expand(template)) for one in regex.finditer(text))
        bounded(len(text) + found)
    return regex.sub(template, text)


def extracted(regex: re.Pattern[str], text: str, group: int) -> str:
    """Return regexp_extract(): empty where nothing was found."""
    found = regex.search(text)
    return "" if found is None else found[group] or ""


def first_found(text: str, regex: re.Pattern[str]) -> str | None:
    """Return regexp_substr()."""
    found = regex.search(text)
    return None if found is None else found[0]


def position_found(text: str, regex: re.Pattern[str]) -> int:
    """Return regexp_instr(), which counts in UTF-16."""
    found = regex.search(text)
    return 0 if found is None else len(text[: found.start()].encode("utf-16-le")) // 2 + 1
