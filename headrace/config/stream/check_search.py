"""What must hold between the keys by which a search sink logs in, and trusts its node."""

from __future__ import annotations

import re
import ssl
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from headrace.config.common.section import Section

# What a header of a request may hold.
_KEY: Final = re.compile(r"\s*[!-~]+\s*")
_USER: Final = re.compile(r"https?://[^/]*@")


def check_login(sink: Section) -> None:
    """Report an API key that cannot be one, a second login, and a CA that is of no use."""
    url, key = sink.text("url") or "", sink.text("api_key")
    if key is not None and not _KEY.fullmatch(key):
        message = "expected an API key as Elasticsearch encodes it, got something else"
        sink.at("api_key").report(message, "use the value `encoded` of its answer")
    elif key is not None and _USER.match(url):
        message = "api_key and a user in the url are two kinds of login"
        sink.at("api_key").report(message, "remove one of the two", key=True)
    if sink.text("ca") is not None and url.startswith("http://"):
        message = "ca has no effect: the url does not use TLS"
        sink.at("ca").report(message, "remove it, or begin the url with https://", key=True)
    _check_ca(sink.at("ca"))


def _check_ca(ca: Section) -> None:
    path = ca.find_file()
    if path is None:
        return
    try:
        ssl.create_default_context(cadata=path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        # Among them OpenSSL's own errors.
        message = f"the file {ca.shown()} has no certificate in PEM"
        ca.report(message, "it begins with -----BEGIN CERTIFICATE-----")
