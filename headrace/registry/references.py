"""Schemas that refer to others: each is asked for once, and made into one that stands alone."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final
from urllib.parse import quote

from headrace.registry.address import context_of
from headrace.registry.answers import UnknownSchema, UnusableSchema
from headrace.schema.avro_words import full_name, is_object

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

AVRO: Final = "AVRO"
MOST_DEEP: Final = 100
_DEFINING: Final = ("record", "error", "enum", "fixed")
_HELD_IN: Final = ("type", "items", "values")


class References:
    """The schemas of a registry that others refer to. A version of a subject never changes."""

    def __init__(self, ask: Callable[[str, str], Mapping[str, object]], context: str) -> None:
        self._ask = ask
        self._context = context
        self._texts: dict[str, str] = {}

    def whole(self, answer: Mapping[str, object], what: str, above: tuple[str, ...] = ()) -> str:
        """Return the Avro text of an answer, with what it refers to."""
        form, text = answer.get("schemaType") or AVRO, answer.get("schema")
        if form != AVRO:
            raise UnusableSchema(what, f"is {form}, not Avro")
        if not isinstance(text, str):
            raise UnusableSchema(what, "has no text in the registry")
        references = answer.get("references")
        if not isinstance(references, list) or not references:
            return text
        referred = [self._text(one, what, above) for one in references]
        try:
            return stand_alone(text, referred)
        except (ValueError, RecursionError):
            raise UnusableSchema(what, "is not a schema in JSON") from None

    def _text(self, reference: object, what: str, above: tuple[str, ...]) -> str:
        if not isinstance(reference, dict):
            raise UnusableSchema(what, "has an invalid reference")
        subject, version = str(reference.get("subject")), str(reference.get("version"))
        if self._context and not context_of(subject):
            # Without a context of its own it is in that of the schema.
            subject = f"{self._context}{subject}"
        # A version that was deleted is still what older schemas mean.
        path = f"/subjects/{quote(subject, safe='')}/versions/{quote(version)}?deleted=true"
        if path in self._texts:
            return self._texts[path]
        named = f"version {version} of {subject}"
        if path in above or len(above) >= MOST_DEEP:
            raise UnusableSchema(
                what, f"refers to {named}, whose references go too deep or in a circle"
            )
        try:
            answer = self._ask(path, what)
        except UnknownSchema:
            gone = f"refers to {named}, which is not in the registry"
            raise UnusableSchema(what, gone) from None
        text = self._texts[path] = self.whole(answer, what, (*above, path))
        return text


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
        fields = obj.get("fields")
        if isinstance(fields, list):
            inside["fields"] = [self._field(one, namespace) for one in fields]
        return {**obj, **inside}

    def _field(self, field: object, namespace: str) -> object:
        if not is_object(field):
            return field
        return {**field, "type": self.inlined(field.get("type"), namespace)}

    def _reference(self, name: str, namespace: str) -> object:
        for known in (full_name(name, namespace), name):
            if known in self._defined:
                return known
            if known in self._library:
                return self.inlined(self._library[known], "")
        return name
