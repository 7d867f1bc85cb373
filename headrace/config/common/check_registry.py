"""What must hold between the keys of a registry's address, and of any server's."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from headrace.registry.address import (
    BEARER,
    BEARER_SOURCE,
    BETWEEN_URLS,
    CERTIFICATE,
    KEY,
    KEY_PASSWORD,
    NEEDED_BY,
    USER_INFO,
)

if TYPE_CHECKING:
    from headrace.config.common.section import Section

_ADDRESS: Final = re.compile(r"https?://[^\s/]")


def check_registry_address(registry: Section) -> None:
    """Report what is wrong with a registry's URLs, and what does not go together in its client."""
    url, properties = registry.at("url"), registry.at("properties")
    text = url.text()
    urls = [] if text is None else BETWEEN_URLS.split(text.strip())
    if not all(map(_ADDRESS.match, urls)):
        _report_address(url)
    _check_bearer(properties)
    keys = properties.mapping()
    first = next((one for one in (KEY, KEY_PASSWORD) if one in keys), None)
    if first is not None and CERTIFICATE not in keys:
        message = f'missing key "{CERTIFICATE}": {first} needs it'
        properties.report(message, f"add {CERTIFICATE}", key=True)


def _check_bearer(properties: Section) -> None:
    keys, source = properties.mapping(), properties.text(BEARER_SOURCE)
    for name in NEEDED_BY.get(source or "", ()):
        if name not in keys:
            message = f'missing key "{name}": {source} needs it'
            properties.report(message, f"add {name}", key=True)
    if BEARER_SOURCE not in keys:
        alone = next((name for name in keys if name.startswith(BEARER)), None)
        if alone is not None:
            message = f"{alone} has no effect without {BEARER_SOURCE}"
            advice = f"add {BEARER_SOURCE}: {' or '.join(NEEDED_BY)}"
            properties.at(alone).report(message, advice, key=True)
    elif USER_INFO in keys:
        message = f"{USER_INFO} and {BEARER_SOURCE} are two kinds of login"
        properties.at(USER_INFO).report(message, "remove one of the two", key=True)


def check_address(address: Section) -> None:
    """Report what is no address of a server; the address itself may hold a password."""
    text = address.text()
    if text is not None and not _ADDRESS.match(text):
        _report_address(address)


def _report_address(address: Section) -> None:
    message = "expected an address such as http://host:8081, got something else"
    address.report(message, "begin it with http:// or https://")
