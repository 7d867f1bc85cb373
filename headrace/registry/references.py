"""A schema that refers to others, made into one that stands alone."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

from headrace.schema.avro_words import full_name, is_object

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

_DEFINING: Final = ("record", "error", "enum", "fixed")
_HELD_IN: Final = ("type", "items", "values")


def stand_alone(text: str, referred: Iterable[str]) -> str:
    """Return the schema with each type of the others defined where it is first named."""
    library: dict[str, Mapping[str, object]] = {}
    for other in referred:
        _collect(json.loads(other), "", library)
    return json.dumps(_Inliner(library).inlined(json.loads(text), ""))


def _collect(obj: object, namespace: str, library: dict[str, Mapping[str, object]]) -> None:
    """Note every type that is defined in there, with its namespace said."""
    if isinstance(obj, list):
        for one in obj:
            _collect(one, namespace, library)
    if not is_object(obj):
        return
    if obj.get("type") in _DEFINING:
        full, namespace = _names(obj, namespace)
        library.setdefault(full, {**obj, "name": full, "namespace": namespace})
    for held in (*_HELD_IN, "fields"):
        _collect(obj.get(held), namespace, library)


def _names(obj: Mapping[str, object], namespace: str) -> tuple[str, str]:
    own = obj.get("namespace")
    full = full_name(str(obj.get("name")), own if isinstance(own, str) else namespace)
    return full, full.rpartition(".")[0]


class _Inliner:
    def __init__(self, library: Mapping[str, Mapping[str, object]]) -> None:
        self._library = library
        self._defined: set[str] = set()

    def inlined(self, obj: object, namespace: str) -> object:
        """Return a type with what it refers to."""
        if isinstance(obj, str):
            return self._reference(obj, namespace)
        if isinstance(obj, list):
            return [self.inlined(one, namespace) for one in obj]
        if not is_object(obj):
            return obj
        if obj.get("type") in _DEFINING:
            full, namespace = _names(obj, namespace)
            if full in self._defined:
                return full
            self._defined.add(full)
        inside = {held: self.inlined(obj[held], namespace) for held in _HELD_IN if held in obj}
        return {**obj, **inside, **self._fields(obj, namespace)}

    def _fields(self, obj: Mapping[str, object], namespace: str) -> dict[str, object]:
        fields = obj.get("fields")
        if not isinstance(fields, list):
            return {}
        types = (
            {**field, "type": self.inlined(field.get("type"), namespace)}
            if is_object(field)
            else field
            for field in fields
        )
        return {"fields": list(types)}

    def _reference(self, name: str, namespace: str) -> object:
        for known in (full_name(name, namespace), name):
            if known in self._defined:
                return known
            if known in self._library:
                return self.inlined(self._library[known], "")
        return name
