"""Lists at run time."""

from __future__ import annotations

from typing import Any

from headrace.expressions.lane.run_texts import joined as joined_texts
from headrace.expressions.lane.undefined import Undefined


def item(items: list[Any], index: int) -> Any:  # noqa: ANN401 - whatever the list holds
    """Return an item, counted from 0."""
    if not 0 <= index < len(items):
        raise Undefined(f"the list has no item [{index}], only {len(items)} items")
    return items[index]


def item_or_null(items: list[Any], index: int) -> Any:  # noqa: ANN401 - as above
    """Return an item, counted from 0; null outside of the list."""
    return items[index] if 0 <= index < len(items) else None


def element(items: list[Any], place: int) -> Any:  # noqa: ANN401 - as above
    """Return an item, counted from 1, or from the end below 0."""
    if place == 0 or abs(place) > len(items):
        raise Undefined(f"the list has no element {place}, only {len(items)} items")
    return items[place - 1 if place > 0 else place]


def element_or_null(items: list[Any], place: int) -> Any:  # noqa: ANN401 - as above
    """Return an item, counted from 1, or from the end below 0; null where there is none."""
    if place == 0:
        raise Undefined("elements are counted from 1")
    if abs(place) > len(items):
        return None
    return items[place - 1 if place > 0 else place]


def contains(items: list[Any], wanted: object) -> bool | None:
    """Return whether a list has an item, null where a null in it may be the item."""
    if wanted in items:
        return True
    return None if None in items else False


def place_of_item(items: list[Any], wanted: object) -> int:
    """Return the place of an item, counted from 1; 0 where it is not there."""
    return items.index(wanted) + 1 if wanted in items else 0


def joined(items: list[str | None], separator: str, null: str | None = None) -> str:
    """Return the items as one text; those that are null are left out, or shown as `null`."""
    return joined_texts(
        separator, items if null is None else [null if x is None else x for x in items]
    )
