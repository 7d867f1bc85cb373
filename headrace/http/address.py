"""Where the HTTP side listens, and who may ask there."""

from __future__ import annotations

import ipaddress
import os
import re
from dataclasses import dataclass
from typing import Final

from headrace.errors import UsageError
from headrace.secret import Secret

TOKEN: Final = "HEADRACE_HTTP_TOKEN"  # noqa: S105 - the variable's name
# A shorter one can be guessed.
SHORTEST_TOKEN: Final = 16
EXAMPLE: Final = "127.0.0.1:8484"
LAST_PORT: Final = 65_535
HIGHEST_VISIBLE: Final = 126
_ADDRESS: Final = re.compile(r"(?:(?P<host>\[[0-9A-Fa-f:.]+\]|[^:\[\]\s]+):)?(?P<port>[0-9]{1,5})")
_EXAMPLE: Final = f"write it as HOST:PORT, for example {EXAMPLE}"


@dataclass(frozen=True, slots=True)
class Address:
    """A host and a port; port 0 takes any that is free. Beyond loopback there is a token."""

    host: str
    port: int
    token: Secret | None = None

    @property
    def is_loopback(self) -> bool:
        """Whether only this machine can ask."""
        return is_loopback(self.host)

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def parse_address(text: str) -> Address:
    """Read HOST:PORT, or a PORT of loopback; refuse to be open beyond loopback without a token."""
    found = _ADDRESS.fullmatch(text.strip())
    if found is None:
        raise UsageError(f"--http {text} is not an address", _EXAMPLE)
    port = int(found["port"])
    if port > LAST_PORT:
        raise UsageError(f"--http {text}: there is no port {port}", _EXAMPLE)
    address = Address((found["host"] or "127.0.0.1").strip("[]"), port, _token())
    if not address.is_loopback and address.token is None:
        raise UsageError(
            f"--http {address} can be reached from other machines, and there is no token",
            f"set {TOKEN} to a secret of at least {SHORTEST_TOKEN} characters, which requests then "
            "carry as Authorization: Bearer; or listen on 127.0.0.1",
        )
    return address


def is_loopback(host: str) -> bool:
    """Whether a host, as a user or a request writes it, is this machine alone."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host.lower() == "localhost"


def _token() -> Secret | None:
    text = os.environ.get(TOKEN, "")
    if not text:
        return None
    if len(text) < SHORTEST_TOKEN or not all("!" <= one <= chr(HIGHEST_VISIBLE) for one in text):
        raise UsageError(
            f"the secret in {TOKEN} has fewer than {SHORTEST_TOKEN} characters, or some that a "
            "header cannot have",
            "use letters and digits, for example from: openssl rand -hex 24",
        )
    return Secret(text)
