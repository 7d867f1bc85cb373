"""`__record__`: what a table keeps of each Kafka record beside its columns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from headrace.contract import HEADERS, KEY, RECORD, TOMBSTONE

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

# What decodes a message has its headers at hand by then.
_PARTS: Final = {KEY: "m.key()", TOMBSTONE: "m.value() is None", HEADERS: "headers"}
_OF: Final = {KEY: (KEY, TOMBSTONE), HEADERS: (HEADERS,)}


class Kept:
    """The fields of `__record__` that columns have and that are to be kept; the others are null."""

    def __init__(self, columns: pa.Schema, keep: Collection[str]) -> None:
        self.at = columns.get_field_index(RECORD)
        self._fields: list[pa.Field] = [] if self.at < 0 else list(columns.field(RECORD).type)
        asked = [field for part in keep for field in _OF[part]]
        held = {field.name for field in self._fields}
        self.names = tuple(name for name in asked if name in held)

    @property
    def lists(self) -> tuple[str, ...]:
        """The names of the lists that are filled for each good record."""
        return tuple(f"kept_{name}" for name in self.names)

    @property
    def lines(self) -> tuple[str, ...]:
        """The lines of the loop over messages that fill them, after the headers are known."""
        return tuple(f"kept_{name}.append({_PARTS[name]})" for name in self.names)

    def column(self, lists: Sequence[Sequence[Any]], rows: int) -> pa.StructArray:
        """Return the column of so many rows."""
        found = dict(zip(self.names, lists, strict=True))
        arrays = [
            pa.array(found[field.name], field.type)
            if field.name in found
            else pa.nulls(rows, field.type)
            for field in self._fields
        ]
        return pa.StructArray.from_arrays(arrays, fields=self._fields)
