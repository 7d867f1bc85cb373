"""Where a registry is, and who asks."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final
from urllib.parse import urlunsplit

from headrace.errors import Terminal
from headrace.secret import Secret
from headrace.urls import authorization_in, http_parts

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    Plain = tuple[str, Path | None, tuple[tuple[str, str], ...], str]

# Settings of a client, by Confluent's names.
CA: Final = "ssl.ca.location"
CERTIFICATE: Final = "ssl.certificate.location"
KEY: Final = "ssl.key.location"
KEY_PASSWORD: Final = "ssl.key.password"  # noqa: S105 - a name
USER_INFO: Final = "basic.auth.user.info"
BEARER: Final = "bearer."
BEARER_SOURCE: Final = "bearer.auth.credentials.source"
STATIC: Final = "STATIC_TOKEN"
OAUTH: Final = "OAUTHBEARER"
TOKEN: Final = "bearer.auth.token"  # noqa: S105 - a name
TOKEN_URL: Final = "bearer.auth.issuer.endpoint.url"  # noqa: S105 - a name
CLIENT_ID: Final = "bearer.auth.client.id"
CLIENT_SECRET: Final = "bearer.auth.client.secret"  # noqa: S105 - a name
SCOPE: Final = "bearer.auth.scope"
# What a source of tokens cannot do without.
NEEDED_BY: Final = {STATIC: (TOKEN,), OAUTH: (TOKEN_URL, CLIENT_ID, CLIENT_SECRET)}

# Several URLs of one registry. A comma may also stand in a password.
BETWEEN_URLS: Final = re.compile(r"\s*,\s*(?=https?://)")
# A subject of a context, as Confluent writes it: `:.context:subject`.
_IN_CONTEXT: Final = re.compile(r"(:\.[^:]*:).*", re.DOTALL)


@dataclass(frozen=True, slots=True)
class RegistryAddress:
    """A registry's URL, which may hold a password, and the folder that keeps its answers.

    The URL may be several of one registry, with commas. `properties` are the client's, by
    Confluent's names. `context` is the one that ids are looked up in, "" where it is the default.
    """

    url: Secret
    cache_dir: Path | None = None
    properties: tuple[tuple[str, Secret], ...] = ()
    context: str = ""

    def __reduce__(self) -> tuple[Callable[..., RegistryAddress], Plain]:
        # A task must ask as well: the pickle goes to Spark's own executors, and lies nowhere.
        properties = tuple((name, value.reveal()) for name, value in self.properties)
        return _revealed, (self.url.reveal(), self.cache_dir, properties, self.context)


def context_of(subject: str) -> str:
    """Return the context that a subject's name begins with, "" where it has none."""
    found = _IN_CONTEXT.fullmatch(subject)
    return found[1] if found else ""


@dataclass(frozen=True, slots=True)
class Base:
    """One URL of a registry without who asks, and what it says of that."""

    url: Secret
    authorization: Secret | None

    def of(self, path: str) -> Secret:
        """Return the URL of a path at it."""
        return Secret(self.url.reveal() + path)


def bases_of(address: RegistryAddress) -> tuple[Base, ...]:
    """Return the URLs of an address, with users and passwords taken out of them."""
    return tuple(_base(url) for url in BETWEEN_URLS.split(address.url.reveal().strip()))


def identity_of(address: RegistryAddress) -> str:
    """Return what tells registries apart without saying which they are."""
    # Nobody's order of them makes another registry; a context has ids of its own.
    parts = sorted(one.url.reveal() for one in bases_of(address))
    parts += filter(None, [address.context])
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]


def _base(url: str) -> Base:
    invalid = Terminal(
        "the schema registry's URL is not valid",
        "write it like https://user:password@registry.example:8081",
    )
    parts = http_parts(url, invalid)
    host = parts.netloc.rpartition("@")[2]
    bare = urlunsplit((parts.scheme, host, parts.path.rstrip("/"), "", ""))
    return Base(Secret(bare), authorization_in(parts))


def _revealed(
    url: str, cache_dir: Path | None, properties: tuple[tuple[str, str], ...], context: str
) -> RegistryAddress:
    held = tuple((name, Secret(value)) for name, value in properties)
    return RegistryAddress(Secret(url), cache_dir, held, context)
