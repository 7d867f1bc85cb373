"""The client of a schema registry, as the stages use it."""

from __future__ import annotations

import contextlib
import hashlib
import time
from http import HTTPStatus
from typing import TYPE_CHECKING, Final
from urllib.parse import quote

import structlog

from headrace.errors import Terminal
from headrace.registry.address import bases_of, identity_of
from headrace.registry.answers import AnswersOnDisk, Refusals, UnknownSchema, UnusableSchema
from headrace.registry.credentials import Credentials
from headrace.registry.http import NoRegistry, RegistryHttp, RegistryRefuses, RegistrySilent
from headrace.registry.references import References

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from uuid import UUID

    from headrace.registry.address import RegistryAddress

# As long as a registry was silent just now, what is known of old is taken without asking.
SILENT_FOR_S: Final = 10.0
# Ids are Java's ints: nobody has another, and a registry may fail on one that is none.
LARGEST_ID: Final = 2**31 - 1
_GUIDS: Final = "/schemas/guids/"
_ANY_ID: Final = "/schemas/ids/1"

log = structlog.get_logger(__name__)
_shared: Final[dict[RegistryAddress, Registry]] = {}


class Registry:
    """A schema registry, and the answers that it gave to this process.

    A registry that does not answer is Transient (RegistrySilent). An id's schema is asked for
    once in a process; what an earlier one stored on disk counts only while the registry is
    silent, for a registry that was re-created gives the same ids to other schemas. A refusal is
    asked for again, after a second, then two, at most five minutes.
    """

    def __init__(
        self, address: RegistryAddress, clock: Callable[[], float] = time.monotonic
    ) -> None:
        bases = bases_of(address)
        self._http = RegistryHttp(bases, Credentials(dict(address.properties)))
        folder = address.cache_dir / identity_of(address) if address.cache_dir else None
        self._disk = AnswersOnDisk(folder)
        self._clock = clock
        self._silent_until = 0.0
        self._texts: dict[str, str] = {}
        self._refusals = Refusals(clock)
        self._references = References(self._ask, address.context)
        # The registry looks an id up in the default context unless another is named.
        self._in = f"?subject={quote(address.context, safe='')}" if address.context else ""

    def require_answer(self) -> None:
        """Raise why the registry does not answer, or does not let us in; any answer will do."""
        with contextlib.suppress(UnknownSchema):
            self._ask(_ANY_ID, "any schema")

    def schema_by_id(self, schema_id: int) -> str:
        """Return the Avro text of that id, with what it refers to."""
        what = f"schema id {schema_id}"
        if schema_id > LARGEST_ID:
            raise UnknownSchema(what)
        return self._schema(f"/schemas/ids/{schema_id}{self._in}", what)

    def schema_by_guid(self, guid: UUID) -> str:
        """Return the Avro text of that GUID, with what it refers to."""
        return self._schema(f"{_GUIDS}{guid}", f"schema {guid}")

    def latest(self, subject: str) -> str:
        """Return the Avro text of a subject's newest version, with what it refers to."""

        def ask() -> dict[str, object]:
            what = f"subject {subject}"
            answer = self._ask(f"/subjects/{quote(subject, safe='')}/versions/latest", what)
            return {**answer, "schema": self._references.whole(answer, what)}

        return str(self._or_stored("latest", subject, subject, ask)["schema"])

    def register(self, subject: str, text: str) -> int:
        """Return the schema's id in the subject; a schema that is there already keeps its own."""

        def ask() -> dict[str, object]:
            path = f"/subjects/{quote(subject, safe='')}/versions"
            try:
                return {"id": _id_in(self._http.ask(path, {"schema": text}))}
            except RegistryRefuses as no:
                raise _not_registered(subject, no) from None

        name = f"{subject} {hashlib.sha256(text.encode()).hexdigest()}"
        return _id_in(self._or_stored("registered", name, subject, ask))

    def _or_stored(
        self, kind: str, name: str, subject: str, ask: Callable[[], dict[str, object]]
    ) -> dict[str, object]:
        """Return the answer, which is stored; the one before it while the registry is silent."""
        try:
            answer = ask()
        except RegistrySilent as silent:
            stored = self._disk.find(kind, name)
            if stored is None:
                raise
            _warn(silent, subject=subject)
            return stored
        self._disk.keep(kind, name, answer)
        return answer

    def _schema(self, path: str, what: str) -> str:
        text = self._texts.get(path)
        if text is None:
            self._refusals.check(path)
            text = self._texts[path] = self._schema_or_stored(path, what)
            self._refusals.forget(path)
        return text

    def _schema_or_stored(self, path: str, what: str) -> str:
        found = self._disk.find("schemas", path)
        stored = None if found is None else found.get("schema")
        if isinstance(stored, str) and self._clock() < self._silent_until:
            return stored
        try:
            text = self._references.whole(self._ask(path, what), what)
        except UnusableSchema as no:
            self._refusals.add(path, no)
            raise
        except RegistrySilent as silent:
            if not isinstance(stored, str):
                raise
            self._silent_until = self._clock() + SILENT_FOR_S
            _warn(silent, schema=what)
            return stored
        if text != stored:
            if stored is not None:
                log.warning(
                    "the registry returned another schema than before for this id. Was it "
                    "re-created?",
                    schema=what,
                )
            self._disk.keep("schemas", path, {"schema": text})
        return text

    def _ask(self, path: str, what: str) -> dict[str, object]:
        try:
            return self._http.ask(path)
        except RegistryRefuses as no:
            if no.status == HTTPStatus.NOT_FOUND:
                raise UnknownSchema(what) from None
            raise
        except NoRegistry as no:
            if no.status != HTTPStatus.NOT_FOUND or not path.startswith(_GUIDS):
                raise
            # Many registries have ids alone, and any byte may begin a record that is none.
            with contextlib.suppress(UnknownSchema):
                self._ask(_ANY_ID, what)
            raise UnusableSchema(
                what, "is a GUID, but the registry supports only numeric ids"
            ) from None


def shared(address: RegistryAddress) -> Registry:
    """Return this process's client of a registry: what one task has asked, the next one knows."""
    if address not in _shared:
        _shared[address] = Registry(address)
    return _shared[address]


def _id_in(answer: Mapping[str, object]) -> int:
    schema_id = answer.get("id")
    if not isinstance(schema_id, int):
        raise Terminal("the schema registry's answer has no id")
    return schema_id


def _not_registered(subject: str, no: RegistryRefuses) -> Terminal:
    if no.status == HTTPStatus.CONFLICT:
        advice = "give new fields a default, or change the subject's compatibility"
        return Terminal(f"the schema does not fit subject {subject}: {no.reason}", advice)
    if no.status == HTTPStatus.UNPROCESSABLE_ENTITY:
        return Terminal(f"the registry rejects the schema for subject {subject}: {no.reason}")
    return Terminal(f"subject {subject}: {no.message}")


def _warn(silent: RegistrySilent, **what: str) -> None:
    log.warning(
        "the registry does not answer; the stored schema is used", **what, reason=silent.message
    )
