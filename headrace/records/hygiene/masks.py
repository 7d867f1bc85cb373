"""Masks: columns that no output gets in plain text."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any, Final

from headrace.errors import Terminal
from headrace.records.parts import each_item
from headrace.records.rows import attribute
from headrace.schema.model import Many, Map, Primitive, Record

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from headrace.records.hygiene.rules import HygieneRules, Mask
    from headrace.records.parts import Change
    from headrace.records.rows import Row
    from headrace.schema.model import Type

REDACTED: Final = "***"


def masks(hygiene: HygieneRules, schema: Record) -> Callable[[Row], None] | None:
    """Return what masks a row in place, lists and maps in it too; None where nothing is masked."""
    changes = [_change(schema, name.split("."), mask, name) for name, mask in hygiene.masks.items()]
    if not changes:
        return None

    def mask_all(row: Row) -> None:
        for change in changes:
            change(row)

    return mask_all


def can_be_masked(kind: Type, *, hashed: bool) -> bool:
    """Whether values of a type have a masked form; in a list or map, the items count."""
    if isinstance(kind, Many):
        return can_be_masked(kind.item, hashed=hashed)
    return kind is Primitive.STRING or (kind is Primitive.BYTES and hashed)


def _change(kind: Type, parts: Sequence[str], mask: Mask, name: str) -> Change:
    """Return the change of a value of that type; `parts` are the names that lead on from it."""
    match kind:
        case Record() if parts:
            field = kind.field(parts[0])
            if field is not None:
                inner = _change(field.type, parts[1:], mask, name)
                return _in_record(attribute(kind.fields.index(field)), inner)
        case Map() if parts:
            return _at_key(parts[0], _change(kind.item, parts[1:], mask, name))
        case Many():
            return each_item(kind, _change(kind.item, parts, mask, name))
        case _ if not parts and can_be_masked(kind, hashed=mask.salt is not None):
            return _leaf(kind, mask)
    raise Terminal(
        f"hygiene masks the column {name}, which the schema does not have as a text",
        "correct hygiene, or the subject that the schema comes from",
    )


def _in_record(name: str, inner: Change) -> Change:
    def change(row: Row) -> Row:
        value = getattr(row, name)
        if value is not None:
            setattr(row, name, inner(value))
        return row

    return change


def _at_key(key: str, inner: Change) -> Change:
    def change(values: dict[str, Any]) -> dict[str, Any]:
        if values.get(key) is not None:
            values[key] = inner(values[key])
        return values

    return change


def _leaf(kind: Type, mask: Mask) -> Change:
    salt, length = mask.salt, mask.keep_first
    if salt is not None and kind is Primitive.BYTES:
        return lambda value: hashlib.sha256(salt + value).digest()
    if salt is not None:
        # As Spark's sha2(concat(salt, value), 256), so that a join on it is possible elsewhere.
        return lambda text: hashlib.sha256(salt + text.encode()).hexdigest()
    if length is not None:
        return lambda text: text[:length] + REDACTED if len(text) > length else REDACTED
    return lambda _value: REDACTED
