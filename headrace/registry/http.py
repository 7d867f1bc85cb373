"""The registry's REST interface: one question, one answer, tried a few times at each URL."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

import stamina

from headrace.errors import Terminal, Transient
from headrace.registry.request import Refused, TryAgain, answer, request

if TYPE_CHECKING:
    from headrace.registry.address import Base, Endpoint
    from headrace.registry.credentials import Credentials

TRIES: Final = 4
ALL_TRIES_LIMIT_S: Final = 15.0
_JSON: Final = "application/vnd.schemaregistry.v1+json"
_UNAUTHORIZED: Final = 401
_REFUSED: Final = {
    _UNAUTHORIZED: "does not know the user, the password or the token",
    403: "forbids it to this user",
}


class RegistrySilent(Transient):
    """A registry that does not answer, or that says it cannot for now."""

    def __init__(self, reason: str) -> None:
        super().__init__(
            f"the schema registry does not answer ({reason})",
            "start it, or correct its URL in headrace.yaml",
        )


class RegistryRefuses(Terminal):
    """An answer that is a no: the HTTP status, the registry's code, and its reason."""

    def __init__(self, status: int, code: int, reason: str) -> None:
        self.status = status
        self.code = code
        self.reason = reason
        super().__init__(f"the schema registry refuses: {reason} ({code})")


class NoRegistry(Terminal):
    """An answer that no schema registry gives."""

    def __init__(self, status: int) -> None:
        self.status = status
        super().__init__(
            f"what answers at the schema registry's URL is no schema registry (HTTP {status})",
            "correct the URL in headrace.yaml; its path is the one before /subjects",
        )


class RegistryHttp:
    """Asks one registry, at the URL that answered last; at the next one where that does not."""

    def __init__(self, endpoint: Endpoint, credentials: Credentials) -> None:
        self._bases = endpoint.bases
        self._credentials = credentials
        self._at = 0

    def get(self, path: str) -> dict[str, object]:
        """Return what lies at that path."""
        return self._ask(path, None)

    def post(self, path: str, body: dict[str, object]) -> dict[str, object]:
        """Return the answer to that body."""
        return self._ask(path, json.dumps(body).encode())

    def _ask(self, path: str, body: bytes | None) -> dict[str, object]:
        tries = stamina.retry_context(
            on=TryAgain,
            attempts=TRIES,
            timeout=ALL_TRIES_LIMIT_S,
            wait_initial=0.1,
            wait_max=1.0,
            wait_jitter=0.1,
        )
        try:
            for attempt in tries:
                with attempt:
                    return self._try_each(path, body)
        except TryAgain as error:
            raise RegistrySilent(str(error)) from None
        raise RegistrySilent("no try was made")

    def _try_each(self, path: str, body: bytes | None) -> dict[str, object]:
        reasons: list[str] = []
        for _ in self._bases:
            try:
                return self._asked(self._bases[self._at], path, body)
            except TryAgain as error:
                reasons.append(str(error))
                self._at = (self._at + 1) % len(self._bases)
        raise TryAgain(", ".join(dict.fromkeys(reasons)))

    def _asked(self, base: Base, path: str, body: bytes | None) -> dict[str, object]:
        try:
            return self._answer(base, path, body)
        except Refused as no:
            # A token may have been called back before its end.
            if no.status != _UNAUTHORIZED or not self._credentials.renew():
                raise _refusal(no) from None
        try:
            return self._answer(base, path, body)
        except Refused as no:
            raise _refusal(no) from None

    def _answer(self, base: Base, path: str, body: bytes | None) -> dict[str, object]:
        headers = {"Accept": f"{_JSON}, application/json", "Content-Type": _JSON}
        own = self._credentials.headers(base)
        return answer(request(base.of(path), body, headers, own), self._credentials.tls)


def _refusal(no: Refused) -> Terminal:
    if no.status in _REFUSED:
        advice = "the registry's URL has them, https://user:password@…, or its properties do"
        return Terminal(f"the schema registry {_REFUSED[no.status]} (HTTP {no.status})", advice)
    code, reason = (no.body or {}).get("error_code"), (no.body or {}).get("message")
    if not isinstance(code, int):
        # Somebody else's 404 must not make every id an unknown one.
        return NoRegistry(no.status)
    return RegistryRefuses(no.status, code, str(reason))
