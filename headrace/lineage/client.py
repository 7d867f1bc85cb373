"""OpenLineage's own client, as headrace.yaml or OpenLineage's own files and variables set it up."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any, Final

from headrace.errors import Terminal
from headrace.urls import http_parts

if TYPE_CHECKING:
    from openlineage.client import OpenLineageClient

    from headrace.config.workspace.lineage import LineageConfig

INSTALL: Final = "pip install 'headrace[lineage]'"
ANSWER_WITHIN_S: Final = 5.0


def sender(config: LineageConfig) -> OpenLineageClient:
    """Return the client that sends events; refuse a setup with which it could send none."""
    try:
        from openlineage.client import OpenLineageClient  # noqa: PLC0415 - an extra that few install
    except ImportError:
        raise Terminal("lineage needs a Python package that is not installed", INSTALL) from None
    # It logs what a receiver answers and where that is; we say ourselves that one is away.
    logging.getLogger("openlineage").addHandler(logging.NullHandler())
    try:
        client = OpenLineageClient(transport=_transport(config))
    except Terminal:
        raise
    except Exception as problem:  # noqa: BLE001 - of any transport
        # Its words may name a secret of its configuration.
        raise Terminal(
            f"OpenLineage's client could not be set up: {type(problem).__name__}",
            "check lineage in headrace.yaml, openlineage.yml and the variables OPENLINEAGE_…",
        ) from None
    if client.transport.kind == "console" and not client.config.transport:
        raise Terminal(
            "lineage names no receiver",
            "lineage: {url: http://HOST:PORT} in headrace.yaml; or OpenLineage's own openlineage.yml "
            "or OPENLINEAGE_URL",
        )
    return client


def _transport(config: LineageConfig) -> Any:  # noqa: ANN401 - of a package that few install
    """Return what sends to the url of headrace.yaml; None where OpenLineage's own setup counts."""
    if config.url is None:
        if config.api_key is not None:
            raise Terminal(
                "lineage.api_key has no lineage.url that it could be for",
                "name the url beside it, or write both into openlineage.yml",
            )
        return None
    from openlineage.client.transport.http import HttpConfig, HttpTransport  # noqa: PLC0415 - as above

    url = config.url.reveal()
    http_parts(url, Terminal("lineage.url is not an address", "write it as http://HOST:PORT"))
    settings: dict[str, Any] = {
        "url": url,
        "timeout": ANSWER_WITHIN_S,
        # We try again ourselves, later each time.
        "retry": {"total": 0},
    }
    if config.api_key is not None:
        settings["auth"] = {"type": "api_key", "apiKey": config.api_key.reveal()}
    return HttpTransport(HttpConfig.from_dict(settings))
