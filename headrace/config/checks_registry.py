"""What must hold between the keys of a registry's address, and of any server's."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from headrace.config.document import KeyPath
    from headrace.config.sheet import Sheet

BEARER: Final = "bearer."
BEARER_SOURCE: Final = "bearer.auth.credentials.source"
CERTIFICATE: Final = "ssl.certificate.location"
KEY: Final = "ssl.key.location"
KEY_PASSWORD: Final = "ssl.key.password"  # noqa: S105 - a name
USER_INFO: Final = "basic.auth.user.info"
NEEDED_BY: Final = {
    "STATIC_TOKEN": ("bearer.auth.token",),
    "OAUTHBEARER": (
        "bearer.auth.issuer.endpoint.url",
        "bearer.auth.client.id",
        "bearer.auth.client.secret",
    ),
}
# Several URLs of one registry. A comma may also stand in a password.
BETWEEN_URLS: Final = re.compile(r"\s*,\s*(?=https?://)")
_ADDRESS: Final = re.compile(r"https?://[^\s/]")


def check_registry_address(sheet: Sheet, path: KeyPath) -> None:
    """Report what is wrong with a registry's URLs, and what does not go together in its client."""
    text = sheet.text(*path, "url")
    urls = [] if text is None else BETWEEN_URLS.split(text.strip())
    if not all(map(_ADDRESS.match, urls)):
        _report_address(sheet, (*path, "url"))
    place = (*path, "properties")
    _check_bearer(sheet, place)
    given = sheet.mapping(*place)
    first = next((one for one in (KEY, KEY_PASSWORD) if one in given), None)
    if first is not None and CERTIFICATE not in given:
        message = f'missing key "{CERTIFICATE}": {first} goes with it'
        sheet.report(place, message, f"add {CERTIFICATE}", key=True)


def _check_bearer(sheet: Sheet, place: KeyPath) -> None:
    given, source = sheet.mapping(*place), sheet.text(*place, BEARER_SOURCE)
    for name in NEEDED_BY.get(source or "", ()):
        if name not in given:
            message = f'missing key "{name}": {source} needs it'
            sheet.report(place, message, f"add {name}", key=True)
    if BEARER_SOURCE not in given:
        alone = next((name for name in given if name.startswith(BEARER)), None)
        if alone is not None:
            message = f"{alone} says nothing without {BEARER_SOURCE}"
            advice = f"add {BEARER_SOURCE}: {' or '.join(NEEDED_BY)}"
            sheet.report((*place, alone), message, advice, key=True)
    elif USER_INFO in given:
        message = f"{USER_INFO} and {BEARER_SOURCE} say twice who asks"
        sheet.report((*place, USER_INFO), message, "remove one of the two", key=True)


def check_address(sheet: Sheet, path: KeyPath) -> None:
    """Report what is no address of a server; the address itself may hold a password."""
    text = sheet.text(*path)
    if text is not None and not _ADDRESS.match(text):
        _report_address(sheet, path)


def _report_address(sheet: Sheet, path: KeyPath) -> None:
    message = "expected an address such as http://host:8081, got something else"
    sheet.report(path, message, "begin it with http:// or https://")
