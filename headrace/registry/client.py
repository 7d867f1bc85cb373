"""What a registry knows, as the stages ask for it."""

from __future__ import annotations

import hashlib
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final
from urllib.parse import quote
from uuid import UUID

import structlog

from headrace.errors import Terminal
from headrace.registry.address import endpoint
from headrace.registry.cache import AnswersOnDisk
from headrace.registry.http import RegistryHttp, RegistryRefuses, RegistrySilent
from headrace.registry.references import stand_alone

if TYPE_CHECKING:
    from collections.abc import Mapping

    from headrace.registry.address import RegistryAddress

AVRO: Final = "AVRO"
# Between registries of one cluster an id may take a moment to be known everywhere.
UNKNOWN_FOR_S: Final = 30.0
MOST_UNKNOWN: Final = 10_000
_NOT_FOUND: Final = 404
_CONFLICT: Final = 409
_INVALID: Final = 422

log = structlog.get_logger(__name__)


class UnusableSchema(Terminal):
    """A schema that no record can be read with; `reason` goes on where `what` ends."""

    def __init__(self, what: str, reason: str) -> None:
        self.reason = reason
        super().__init__(f"{what} {reason}")


class UnknownSchema(UnusableSchema):
    """What the registry says that it does not have."""

    def __init__(self, what: str) -> None:
        super().__init__(what, "is not in the registry")


@dataclass(frozen=True, slots=True)
class RegisteredSchema:
    """A version of a subject."""

    id: int
    guid: UUID | None
    version: int
    text: str


class Registry:
    """A schema registry, and all that it ever said.

    A registry that does not answer is Transient (RegistrySilent). An id's schema never changes:
    it is asked for once. What may change is asked for each time, and known of old only while the
    registry is silent.
    """

    def __init__(self, address: RegistryAddress) -> None:
        asked = endpoint(address)
        self._http = RegistryHttp(asked)
        folder = address.cache_dir / asked.identity if address.cache_dir else None
        self._disk = AnswersOnDisk(folder)
        self._texts: dict[str, str] = {}
        self._unknown_until: dict[str, float] = {}

    def schema_by_id(self, schema_id: int) -> str:
        """Return the Avro text of that id, with what it refers to."""
        return self._schema(f"/schemas/ids/{schema_id}", f"schema id {schema_id}")

    def schema_by_guid(self, guid: UUID) -> str:
        """Return the Avro text of that GUID, with what it refers to."""
        return self._schema(f"/schemas/guids/{guid}", f"schema {guid}")

    def latest(self, subject: str) -> RegisteredSchema:
        """Return a subject's newest version."""
        what = f"subject {subject}"
        try:
            answer = self._asked(f"/subjects/{quote(subject, safe='')}/versions/latest", what)
        except RegistrySilent as silent:
            kept = self._disk.find("latest", subject)
            if kept is None:
                raise
            _warn(subject, silent)
            return _registered(kept)
        whole = {**answer, "schema": self._text(answer, what)}
        found = _registered(whole)
        self._disk.keep("latest", subject, whole)
        return found

    def register(self, subject: str, text: str) -> int:
        """Return the schema's id in the subject; a schema that is there already keeps its own."""
        name = f"{subject} {hashlib.sha256(text.encode()).hexdigest()}"
        try:
            answer = self._http.post(
                f"/subjects/{quote(subject, safe='')}/versions", {"schema": text}
            )
        except RegistrySilent as silent:
            kept = self._disk.find("registered", name)
            if kept is None:
                raise
            _warn(subject, silent)
            return _integer(kept, "id")
        except RegistryRefuses as no:
            raise _not_registered(subject, no) from None
        schema_id = _integer(answer, "id")
        self._disk.keep("registered", name, {"id": schema_id})
        return schema_id

    def _schema(self, path: str, what: str) -> str:
        text = self._texts.get(path)
        if text is None:
            text = self._texts[path] = self._kept_or_asked(path, what)
        return text

    def _kept_or_asked(self, path: str, what: str) -> str:
        if self._unknown_until.get(path, 0.0) > time.monotonic():
            raise UnknownSchema(what)
        kept = self._disk.find("schemas", path)
        if kept is not None and isinstance(kept.get("schema"), str):
            return str(kept["schema"])
        try:
            text = self._text(self._asked(path, what), what)
        except UnknownSchema:
            if len(self._unknown_until) >= MOST_UNKNOWN:
                self._unknown_until.clear()
            self._unknown_until[path] = time.monotonic() + UNKNOWN_FOR_S
            raise
        self._disk.keep("schemas", path, {"schema": text})
        return text

    def _asked(self, path: str, what: str) -> dict[str, object]:
        try:
            return self._http.get(path)
        except RegistryRefuses as no:
            if no.status == _NOT_FOUND:
                raise UnknownSchema(what) from None
            raise

    def _text(self, answer: Mapping[str, object], what: str) -> str:
        form, text = answer.get("schemaType") or AVRO, answer.get("schema")
        if form != AVRO:
            raise UnusableSchema(what, f"is {form}, not Avro")
        if not isinstance(text, str):
            raise Terminal(f"the schema registry gives no schema for {what}")
        references = answer.get("references")
        if not isinstance(references, list) or not references:
            return text
        referred = [self._referred(one, what) for one in references]
        try:
            return stand_alone(text, referred)
        except ValueError:
            raise UnusableSchema(what, "is no JSON") from None

    def _referred(self, reference: object, what: str) -> str:
        if not isinstance(reference, dict):
            raise Terminal(f"the schema registry gives a reference that is none, for {what}")
        subject, version = str(reference.get("subject")), str(reference.get("version"))
        # A version that was deleted is still what older schemas mean.
        path = f"/subjects/{quote(subject, safe='')}/versions/{quote(version)}?deleted=true"
        try:
            return self._text(self._asked(path, what), what)
        except UnknownSchema:
            gone = f"refers to version {version} of {subject}, which is not in the registry"
            raise UnusableSchema(what, gone) from None


def _registered(answer: Mapping[str, object]) -> RegisteredSchema:
    guid = answer.get("guid")
    return RegisteredSchema(
        _integer(answer, "id"),
        UUID(guid) if isinstance(guid, str) else None,
        _integer(answer, "version"),
        str(answer["schema"]),
    )


def _integer(answer: Mapping[str, object], name: str) -> int:
    value = answer.get(name)
    if not isinstance(value, int):
        raise Terminal(f"the schema registry's answer has no {name}")
    return value


def _not_registered(subject: str, no: RegistryRefuses) -> Terminal:
    if no.status == _CONFLICT:
        advice = "give new fields a default, or change the subject's compatibility"
        return Terminal(f"the schema does not fit subject {subject}: {no.reason}", advice)
    if no.status == _INVALID:
        return Terminal(f"the registry takes no such schema for subject {subject}: {no.reason}")
    return Terminal(f"subject {subject}: {no.message}")


def _warn(subject: str, silent: RegistrySilent) -> None:
    log.warning("the schema is the one known of old", subject=subject, reason=silent.message)
