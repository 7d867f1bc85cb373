"""What an expression raises where Spark, in its ANSI mode, would throw."""

from __future__ import annotations

from typing import NoReturn


class Undefined(Exception):
    """The expression has no value for this record; str(e) says why in a sentence."""


def overflow(type_: str) -> NoReturn:
    """Raise for a number that does not fit."""
    raise Undefined(f"the result does not fit the type {type_}")
