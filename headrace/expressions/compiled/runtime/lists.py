"""Lists at run time, and the greatest and the least of values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headrace.expressions.compiled.runtime.errors import Undefined
from headrace.expressions.compiled.runtime.texts import joined as joined_texts

if TYPE_CHECKING:
    from collections.abc import Callable


def item(items: list[Any], index: int) -> Any:  # noqa: ANN401 - whatever the list holds
    """Return an item, counted from 0."""
    if not 0 <= index < len(items):
        raise Undefined(f"the list has no item [{index}], only {len(items)} items")
    return items[index]


def item_or_null(items: list[Any], index: int) -> Any:  # noqa: ANN401 - as above
    """Return an item, counted from 0; null outside of the list."""
    return items[index] if 0 <= index < len(items) else None


def element(items: list[Any], position: int) -> Any:  # noqa: ANN401 - as above
    """Return an item, counted from 1, or from the end below 0."""
    if position == 0 or abs(position) > len(items):
        raise Undefined(f"the list has no element {position}, only {len(items)} items")
    return items[position - 1 if position > 0 else position]


def element_or_null(items: list[Any], position: int) -> Any:  # noqa: ANN401 - as above
    """Return an item, counted from 1, or from the end below 0; null where there is none."""
    if position == 0:
        raise Undefined("elements are counted from 1")
    if abs(position) > len(items):
        return None
    return items[position - 1 if position > 0 else position]


def contains(items: list[Any], wanted: object) -> bool | None:
    """Return whether a list has an item, null where a null in it may be the item."""
    if wanted in items:
        return True
    return None if None in items else False


def position_of_item(items: list[Any], wanted: object) -> int:
    """Return the position of an item, counted from 1; 0 where it is not there."""
    return items.index(wanted) + 1 if wanted in items else 0


def joined(items: list[str | None], separator: str, null: str | None = None) -> str:
    """Return the items as one text; those that are null are left out, or shown as `null`."""
    return joined_texts(
        separator, items if null is None else [null if x is None else x for x in items]
    )


def greatest(*values: Any, key: Callable[[Any], Any] | None = None) -> Any:  # noqa: ANN401 - whatever is compared
    """Return the greatest value, the first of equal ones."""
    return max((one for one in values if one is not None), default=None, key=key)


def least(*values: Any, key: Callable[[Any], Any] | None = None) -> Any:  # noqa: ANN401 - as above
    """Return the least value, the first of equal ones."""
    return min((one for one in values if one is not None), default=None, key=key)


def nan_last(value: float) -> tuple[bool, float]:
    """Return what orders doubles: NaN is greater than any."""
    return value != value, value  # noqa: PLR0124 - the test for NaN
