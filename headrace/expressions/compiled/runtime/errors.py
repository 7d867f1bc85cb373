"""What an expression raises where Spark, in its ANSI mode, would throw."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

if TYPE_CHECKING:
    from collections.abc import Callable


class Undefined(Exception):
    """The expression has no value for this record; str(e) says why in a sentence."""


def overflow(type_: str) -> NoReturn:
    """Raise for a number that does not fit."""
    raise Undefined(f"the result does not fit the type {type_}")


def tried(function: Callable[[Any], Any], value: Any) -> Any:  # noqa: ANN401 - whatever the function takes and gives
    """Return what a function makes of a value, null where it has no value."""
    try:
        return function(value)
    except Undefined:
        return None
