"""Where a registry is, and who asks."""

from __future__ import annotations

import base64
import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit, urlunsplit

from headrace.config.secret import Secret
from headrace.errors import Terminal

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


@dataclass(frozen=True, slots=True)
class RegistryAddress:
    """A registry's URL, which may hold a password, and the folder that keeps its answers."""

    url: Secret
    cache_dir: Path | None = None

    def __reduce__(self) -> tuple[Callable[..., RegistryAddress], tuple[str, Path | None]]:
        # A task must ask as well: the pickle goes to Spark's own executors, and lies nowhere.
        return _revealed, (self.url.reveal(), self.cache_dir)


@dataclass(frozen=True, slots=True)
class Endpoint:
    """An address taken apart. `identity` tells registries apart without saying which they are."""

    base: Secret
    authorization: Secret | None
    identity: str


def endpoint(address: RegistryAddress) -> Endpoint:
    """Take the user and the password out of the URL."""
    try:
        parts = urlsplit(address.url.reveal().strip())
        host = parts.netloc.rpartition("@")[2]
        valid = parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:
        valid = False
    if not valid:
        raise Terminal(
            "the schema registry's URL is none that can be asked",
            "it looks like https://user:password@registry.example:8081",
        )
    base = urlunsplit((parts.scheme, host, parts.path.rstrip("/"), "", ""))
    return Endpoint(
        Secret(base),
        _basic(parts.username, parts.password),
        hashlib.sha256(base.encode()).hexdigest()[:16],
    )


def _basic(user: str | None, password: str | None) -> Secret | None:
    if user is None:
        return None
    pair = f"{unquote(user)}:{unquote(password or '')}"
    return Secret(f"Basic {base64.b64encode(pair.encode()).decode()}")


def _revealed(url: str, cache_dir: Path | None) -> RegistryAddress:
    return RegistryAddress(Secret(url), cache_dir)
