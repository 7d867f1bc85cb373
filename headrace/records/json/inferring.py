"""From samples of JSON records to a schema to begin with.

It says what the samples show, and no more: a point in time only where every sample has one.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from headrace.records.rows import BadRecord
from headrace.records.times import instant_of
from headrace.schema.model import Array, Field, Primitive, Record
from headrace.schema.rules import RESERVED

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from headrace.schema.model import Type

DEEPEST: Final = 16
MOST_FIELDS: Final = 1_000
MOST_NOTES: Final = 50
LONGEST_NAME: Final = 200
_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_NOT_OF_A_NAME: Final = re.compile(r"\W", re.ASCII)
_INSTANT: Final = re.compile(
    r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,6})?(Z|[+-]\d\d:\d\d)", re.ASCII
)
# A number is a time if its field's name ends so, and all its values lie between 2001 and 2099.
_OF_TIME: Final = re.compile(r"(^|_)(ts|timestamp|time|at|date)$|(Ts|Timestamp|Time|At|Date)$")
_SPANS: Final = (
    (Primitive.TIMESTAMP_MILLIS, range(10**12, 4_070_908_800_000)),
    (Primitive.TIMESTAMP_MICROS, range(10**15, 4_070_908_800_000_000)),
)
_PLAIN: Final = {"boolean": Primitive.BOOLEAN, "number": Primitive.DOUBLE}
_LONGS: Final = range(-(2**63), 2**63)


@dataclass(frozen=True, slots=True)
class Inferred:
    """A schema, and what the samples have that it does not say. `others` were no JSON objects."""

    schema: Record
    notes: tuple[str, ...]
    samples: int
    others: int = 0


def infer(values: Iterable[bytes | None], name: str) -> Inferred | None:
    """Return the schema of records; None where none of them is a JSON object."""
    objects, others = [], 0
    for value in values:
        found = _object(value)
        if found is None:
            others += 1
        else:
            objects.append(found)
    inferring = _Inferring()
    record = inferring.record(objects, name, "", 0)
    if record is None:
        return None
    return Inferred(record, tuple(inferring.notes), len(objects), others)


def looks_like_avro(value: bytes) -> bool:
    """Whether a value begins as one that a registry knows the schema of: 0, and a number."""
    return len(value) > 5 and value[0] == 0


def _object(value: bytes | None) -> dict[str, Any] | None:
    try:
        found = json.loads(value or b"")
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


@dataclass(slots=True)
class _Inferring:
    """Types of values by where they are; notes name what a schema cannot hold."""

    notes: list[str] = field(default_factory=list)
    _fields: int = 0
    _names: set[str] = field(default_factory=set)

    def record(
        self, objects: Sequence[dict[str, Any]], name: str, path: str, depth: int
    ) -> Record | None:
        """Return the schema of objects; None where no field of them can be in one."""
        own = self._name(name)
        fields: list[Field] = []
        taken: set[str] = set()
        for key in dict.fromkeys(key for one in objects for key in one):
            here = f"{path}{key}"
            if not self._is_usable(key, here, taken):
                continue
            values = [one[key] for one in objects if key in one]
            kind = self._type([one for one in values if one is not None], key, own, here, depth)
            if kind is None:
                continue
            taken.add(key.casefold())
            is_nullable = len(values) < len(objects) or any(one is None for one in values)
            default = "null" if is_nullable else None
            fields.append(Field(key, kind, is_nullable, default=default))
        return Record(own, tuple(fields)) if fields else None

    def _is_usable(self, key: str, here: str, taken: set[str]) -> bool:
        reason = None
        if not _NAME.fullmatch(key) or len(key) > LONGEST_NAME:
            reason = "a field of a schema has letters, digits and _"
        elif key.casefold() in RESERVED:
            reason = "the name is reserved"
        elif key.casefold() in taken:
            reason = "another field differs only in capitals"
        elif self._fields >= MOST_FIELDS:
            reason = f"there are more than {MOST_FIELDS:,} fields"
        self._fields += 1
        if reason is not None:
            self._note(here, f"left out: {reason}")
        return reason is None

    def _type(self, values: list[Any], key: str, parent: str, here: str, depth: int) -> Type | None:
        kinds = {_kind(one) for one in values}
        if not kinds:
            self._note(here, "no sample has a value: taken as string")
            return Primitive.STRING
        if kinds == {"number", "integer"}:
            kinds = {"number"}
        if len(kinds) > 1:
            # One kind has to do; records with another one are rejected, and can be looked at.
            most = max(sorted(kinds), key=[_kind(one) for one in values].count)
            self._note(here, f"samples are {' and '.join(sorted(kinds))}: taken as {most}")
            return self._type(
                [one for one in values if _kind(one) == most], key, parent, here, depth
            )
        kind = kinds.pop()
        if kind == "integer":
            return self._integer(values, key, here)
        if kind == "text":
            is_time = all(map(_is_instant, values))
            return Primitive.TIMESTAMP_MICROS if is_time else Primitive.STRING
        if kind in _PLAIN:
            return _PLAIN[kind]
        return self._nested(values, key, parent, here, depth)

    def _nested(
        self, values: list[Any], key: str, parent: str, here: str, depth: int
    ) -> Type | None:
        if depth >= DEEPEST:
            self._note(here, "left out: it is nested too deep")
            return None
        if isinstance(values[0], dict):
            record = self.record(values, f"{parent}_{key}", f"{here}.", depth + 1)
            if record is None:
                self._note(here, "left out: its objects have no fields")
            return record
        items = [item for one in values for item in one]
        some = [item for item in items if item is not None]
        item = self._type(some, key, parent, f"{here}[]", depth + 1)
        return None if item is None else Array(item, item_nullable=len(some) < len(items))

    def _integer(self, values: list[int], key: str, here: str) -> Primitive:
        if any(one not in _LONGS for one in values):
            self._note(here, "a number is larger than a long: taken as double")
            return Primitive.DOUBLE
        if _OF_TIME.search(key):
            for kind, span in _SPANS:
                if all(one in span for one in values):
                    return kind
        return Primitive.LONG

    def _name(self, wanted: str) -> str:
        """Return a name that no other record of the schema has."""
        base = _NOT_OF_A_NAME.sub("_", wanted)[:LONGEST_NAME]
        base = base if _NAME.fullmatch(base) else f"_{base}"
        name, number = base, 2
        while name.casefold() in self._names:
            name, number = f"{base}_{number}", number + 1
        self._names.add(name.casefold())
        return name

    def _note(self, here: str, text: str) -> None:
        if len(self.notes) < MOST_NOTES:
            self.notes.append(f"{here[:LONGEST_NAME]}: {text}")


def _kind(value: object) -> str:
    match value:
        case bool():
            return "boolean"
        case int():
            return "integer"
        case float():
            return "number"
        case str():
            return "text"
        case dict():
            return "object"
        case _:
            return "list"


def _is_instant(text: str) -> bool:
    if not _INSTANT.fullmatch(text):
        return False
    try:
        instant_of(text)
    except BadRecord:
        return False
    return True
