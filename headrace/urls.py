"""URLs of HTTP servers, which may hold a user and a password."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

from headrace.secret import Secret

if TYPE_CHECKING:
    from urllib.parse import SplitResult

    from headrace.errors import Terminal


def http_parts(url: str, invalid: Terminal) -> SplitResult:
    """Return the parts of a URL, or raise `invalid`: an error must not show the URL's password."""
    try:
        parts = urlsplit(url.strip())
        is_valid = parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:
        is_valid = False
    if not is_valid:
        raise invalid
    return parts


def authorization_in(parts: SplitResult) -> Secret | None:
    """Return the header `Authorization` for the user and the password in a URL."""
    if parts.username is None:
        return None
    return basic(unquote(parts.username), unquote(parts.password or ""))


def basic(user: str, password: str) -> Secret:
    """Return the header `Authorization` for a user and a password."""
    return Secret(f"Basic {base64.b64encode(f'{user}:{password}'.encode()).decode()}")
