"""The OpenAPI document of the API, made of its list and of the types of its answers."""

from __future__ import annotations

import re
from functools import cache
from importlib import metadata
from typing import TYPE_CHECKING, Any, Final

import msgspec

from headrace.http.api_list import API, JSON, ApiRoute, Problem, Readiness

if TYPE_CHECKING:
    from collections.abc import Mapping

PARAMETER: Final = re.compile(r"\{(\w+)\}")
REFERENCE: Final = "#/components/schemas/{name}"
# A field of an answer is always there, but for these.
MAY_BE_ABSENT: Final = {Readiness.__name__: {"not_ready"}}
# What the address or the room may say to any request, before it is looked at.
REFUSED: Final = {
    401: "The token is missing or wrong (beyond loopback, and for what changes something).",
    403: "A page of another origin may not send this, or the control room is read-only.",
    405: "The path has no such method.",
    421: "The request names another host than this one.",
    500: "The answer failed.",
}


@cache
def openapi() -> dict[str, Any]:
    """Return the document."""
    types = [kind for route in API for kind in route.answers.values() if not isinstance(kind, str)]
    schemas, components = msgspec.json.schema_components([*types, Problem], ref_template=REFERENCE)
    for name, one in components.items():
        if "properties" in one:
            optional = MAY_BE_ABSENT.get(name, set())
            one["required"] = [field for field in one["properties"] if field not in optional]
    by_type = dict(zip([*types, Problem], schemas, strict=True))
    bodies = [one.body for one in API if one.body is not None and not isinstance(one.body, str)]
    # Of a body only what has no default has to be sent.
    taken, sent = msgspec.json.schema_components(bodies, ref_template=REFERENCE)
    by_type |= dict(zip(bodies, taken, strict=True))
    components = {**sent, **components}
    paths: dict[str, dict[str, Any]] = {}
    for route in API:
        paths.setdefault(route.path, {})[route.method.lower()] = _operation(route, by_type)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "headrace",
            "version": metadata.version("headrace"),
            "description": "What runs, how it fares, and what became of records.",
        },
        "paths": paths,
        "components": {
            "schemas": components,
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
        # On loopback none is asked for to read.
        "security": [{}, {"token": []}],
    }


def _operation(route: ApiRoute, schemas: Mapping[Any, Any]) -> dict[str, Any]:
    refused = {
        str(status): {"description": why, "content": {JSON: {"schema": _of(Problem)}}}
        for status, why in REFUSED.items()
    }
    answers = {
        str(status): {"description": _described(status), "content": _content(kind, schemas)}
        for status, kind in route.answers.items()
    }
    found: dict[str, Any] = {
        "summary": route.summary,
        "operationId": _identifier(route),
        "responses": {**refused, **answers},
    }
    parameters = [
        {"name": name, "in": "path", "required": True, "schema": {"type": "string"}}
        for name in PARAMETER.findall(route.path)
    ]
    parameters += [
        {"name": name, "in": "query", "description": why, "schema": {"type": "string"}}
        for name, why in route.query.items()
    ]
    if parameters:
        found["parameters"] = parameters
    if route.body is not None:
        is_required = not isinstance(route.body, str)
        content = _content(route.body, schemas)
        found["requestBody"] = {"content": content, "required": is_required}
    return found


def _content(kind: object, schemas: Mapping[Any, Any]) -> dict[str, Any]:
    if isinstance(kind, str):
        return {kind: {"schema": {"type": "string"}}}
    return {JSON: {"schema": schemas[kind]}}


def _of(kind: type) -> dict[str, str]:
    return {"$ref": REFERENCE.format(name=kind.__name__)}


def _described(status: int) -> str:
    known = {200: "The answer.", 404: "There is none of that name.", 413: "The body is too long."}
    return known.get(status, "It cannot be answered now, or not so; the message says why.")


def _identifier(route: ApiRoute) -> str:
    words = PARAMETER.sub(r"of_\1", route.path).replace("/api/v1", "")
    return "_".join([route.method.lower(), *re.findall(r"\w+", words)])
