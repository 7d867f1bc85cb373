"""Schemas that a schema refers to, each asked for once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final
from urllib.parse import quote

from headrace.registry.address import context_of
from headrace.registry.references import stand_alone
from headrace.registry.unusable import UnknownSchema, UnusableSchema

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

AVRO: Final = "AVRO"
MOST_DEEP: Final = 100


class Referred:
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
            raise UnusableSchema(what, "is no schema in JSON") from None

    def _text(self, reference: object, what: str, above: tuple[str, ...]) -> str:
        if not isinstance(reference, dict):
            raise UnusableSchema(what, "has a reference that is none")
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
            raise UnusableSchema(what, f"refers to {named}, which refers to others without end")
        try:
            answer = self._ask(path, what)
        except UnknownSchema:
            gone = f"refers to {named}, which is not in the registry"
            raise UnusableSchema(what, gone) from None
        text = self._texts[path] = self.whole(answer, what, (*above, path))
        return text
