"""How a registry's client proves who it is: TLS, a user, a token of its own or of an issuer."""

from __future__ import annotations

import re
import ssl
import time
from typing import TYPE_CHECKING, Final
from urllib.parse import quote_plus, urlencode

from headrace.errors import Terminal
from headrace.registry.address import (
    BEARER_SOURCE,
    CA,
    CERTIFICATE,
    CLIENT_ID,
    CLIENT_SECRET,
    KEY,
    KEY_PASSWORD,
    OAUTH,
    SCOPE,
    STATIC,
    TOKEN,
    TOKEN_URL,
    USER_INFO,
)
from headrace.registry.http import Refused, TryAgain, answer, request
from headrace.secret import Secret
from headrace.urls import basic, http_parts

if TYPE_CHECKING:
    from collections.abc import Mapping

    from headrace.registry.address import Base

# Confluent Cloud wants to know which registry and which pool of identities a token is for.
_HEADERS: Final = {
    "bearer.auth.logical.cluster": "target-sr-cluster",
    "bearer.auth.identity.pool.id": "Confluent-Identity-Pool-Id",
}
# A token is fetched again before it ends: so much of its life is used.
LIFE_USED: Final = 0.8
DEFAULT_LIFE_S: Final = 300.0
_CODE: Final = re.compile(r"[a-z_]{1,40}")


class Credentials:
    """The TLS settings and headers of each request to a registry."""

    def __init__(self, properties: Mapping[str, Secret]) -> None:
        self.tls = _tls(properties)
        self._headers = {
            header: properties[name] for name, header in _HEADERS.items() if name in properties
        }
        source = properties.get(BEARER_SOURCE, Secret("")).reveal()
        self._issuer = _Issuer(properties) if source == OAUTH else None
        self._fixed: Secret | None = None
        if source == STATIC and TOKEN in properties:
            self._fixed = Secret(f"Bearer {properties[TOKEN].reveal()}")
        elif USER_INFO in properties:
            user, _, password = properties[USER_INFO].reveal().partition(":")
            self._fixed = basic(user, password)

    def headers(self, base: Base) -> dict[str, Secret]:
        """Return the headers for a URL of the registry, which may name a user itself."""
        own = self._issuer.authorization() if self._issuer else self._fixed or base.authorization
        return self._headers if own is None else {**self._headers, "Authorization": own}

    def renew(self) -> bool:
        """Forget a token that was refused; whether another one can be had."""
        return self._issuer is not None and self._issuer.forget()


class _Issuer:
    """The issuer of tokens for the client's id and secret."""

    def __init__(self, properties: Mapping[str, Secret]) -> None:
        self._url = properties[TOKEN_URL]
        invalid = Terminal(f"the registry's {TOKEN_URL} is not a valid URL")
        http_parts(self._url.reveal(), invalid)
        # As RFC 6749 has it: form-encoded, then as a user and a password.
        names = (CLIENT_ID, CLIENT_SECRET)
        user, password = (quote_plus(properties[name].reveal()) for name in names)
        self._client = basic(user, password)
        form = {"grant_type": "client_credentials"}
        if SCOPE in properties:
            form["scope"] = properties[SCOPE].reveal()
        self._body = urlencode(form).encode()
        # The issuer is often a public one, beside a registry with certificates of the house.
        self._tls = ssl.create_default_context()
        _trust(self._tls, properties)
        self._token: Secret | None = None
        self._until = 0.0

    def authorization(self) -> Secret:
        """Return the token that is valid now."""
        if self._token is None or time.monotonic() >= self._until:
            self._token = self._fetched()
        return self._token

    def forget(self) -> bool:
        """Let the next request fetch a token; return whether there was one."""
        known, self._token = self._token, None
        return known is not None

    def _fetched(self) -> Secret:
        asked = request(
            self._url,
            self._body,
            {"Content-Type": "application/x-www-form-urlencoded", "Accept": "application/json"},
            {"Authorization": self._client},
        )
        try:
            found = answer(asked, self._tls)
        except TryAgain as problem:
            raise TryAgain(f"its token issuer: {problem}") from None
        except Refused as no:
            code = str((no.body or {}).get("error", ""))
            said = f", {code}" if _CODE.fullmatch(code) else ""
            raise Terminal(
                f"the registry's token issuer rejects the client (HTTP {no.status}{said})",
                f"correct {CLIENT_ID}, {CLIENT_SECRET} or {TOKEN_URL}",
            ) from None
        token, life_s = found.get("access_token"), found.get("expires_in", DEFAULT_LIFE_S)
        if not isinstance(token, str) or not token:
            raise Terminal(f"the server at the registry's {TOKEN_URL} answers without a token")
        seconds = life_s if isinstance(life_s, int | float) else DEFAULT_LIFE_S
        self._until = time.monotonic() + LIFE_USED * seconds
        return Secret(f"Bearer {token}")


def _tls(properties: Mapping[str, Secret]) -> ssl.SSLContext:
    # A registry with a certificate of the house is trusted by that alone.
    bare = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context = bare if CA in properties else ssl.create_default_context()
    _trust(context, properties)
    if CERTIFICATE not in properties:
        return context
    certificate = properties[CERTIFICATE].reveal()
    key = properties[KEY].reveal() if KEY in properties else None
    # An empty password: without one, a key that wants it would ask at the terminal.
    password = properties[KEY_PASSWORD].reveal() if KEY_PASSWORD in properties else ""
    what = f"{CERTIFICATE} and {KEY}" if key else CERTIFICATE
    try:
        context.load_cert_chain(certificate, key, password)
    except (OSError, ValueError) as problem:
        raise _unusable(what, problem) from None
    return context


def _trust(context: ssl.SSLContext, properties: Mapping[str, Secret]) -> None:
    if CA in properties:
        try:
            context.load_verify_locations(properties[CA].reveal())
        except (OSError, ValueError) as problem:
            raise _unusable(CA, problem) from None


def _unusable(name: str, problem: Exception) -> Terminal:
    # The path is a setting's value, which is shown to nobody.
    said = problem.reason if isinstance(problem, ssl.SSLError) else None
    words = said or getattr(problem, "strerror", None) or "not a certificate or key in PEM format"
    return Terminal(
        f"the registry's {name} cannot be used ({words})",
        "use PEM files that this process may read, and set ssl.key.password if the key has a "
        "password",
    )
