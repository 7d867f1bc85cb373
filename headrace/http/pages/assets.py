"""The files that pages load: our own, and those of others that vendor.lock names with their hashes."""

from __future__ import annotations

import hashlib
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, Final

from starlette.exceptions import HTTPException
from starlette.responses import Response

if TYPE_CHECKING:
    from starlette.requests import Request

TYPES: Final = {
    "control-room.css": "text/css; charset=utf-8",
    "live.js": "text/javascript; charset=utf-8",
    "icon.svg": "image/svg+xml",
    "vendor/htmx.min.js": "text/javascript; charset=utf-8",
    "vendor/htmx-sse.min.js": "text/javascript; charset=utf-8",
}
PREFIX: Final = "/static/"
# Under another content there is another address.
FOR_EVER: Final = "private, max-age=31536000, immutable"


@cache
def content(name: str) -> bytes:
    """Return a file by its name; KeyError where it is none of ours."""
    folder = resources.files(__package__) / "static"
    return folder.joinpath(*name.split("/")).read_bytes() if TYPES[name] else b""


@cache
def address(name: str) -> str:
    """Return where a page finds a file: an address that changes with its content."""
    digest = hashlib.sha256(content(name)).hexdigest()
    return f"{PREFIX}{name}?v={digest[:12]}"


async def static(request: Request) -> Response:
    """Answer with a file; the names that there are stand in a table, and no other is looked for."""
    name = request.path_params["name"]
    if name not in TYPES:
        raise HTTPException(404, "there is no such file")
    headers = {"content-type": TYPES[name], "cache-control": FOR_EVER}
    return Response(content(name), headers=headers)
