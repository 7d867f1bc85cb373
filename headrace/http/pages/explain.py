"""What a stream makes of a record that somebody pastes: a form on its page, and a part of the API."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import parse_qs

from headrace.errors import HeadraceError
from headrace.http.pages.templates import render

if TYPE_CHECKING:
    from collections.abc import Mapping

    from starlette.requests import Request

    from headrace.http.board import Facts
    from headrace.http.pages.parts import Page

MOST_BYTES: Final = 64 * 1024


@dataclass(frozen=True, slots=True)
class Answer:
    """What becomes of the records, or why that cannot be said."""

    found: Mapping[str, Any] | None = None
    problem: str | None = None
    advice: str | None = None


async def sent_text(request: Request, most_bytes: int = MOST_BYTES) -> str | None:
    """Return the body of a request; None where it is too long."""
    body = b""
    async for chunk in request.stream():
        body += chunk
        if len(body) > most_bytes:
            return None
    return body.decode(errors="replace")


def records_in(form: str) -> str:
    """Return the records of the page's form."""
    return parse_qs(form).get("records", [""])[0].replace("\r\n", "\n")


def explained(facts: Facts, stream: str, records: str) -> Answer | None:
    """Return what becomes of records; None where there is no such stream. It may ask a registry."""
    try:
        found = facts.explain(stream, records)
    except HeadraceError as problem:
        return Answer(None, problem.message, problem.advice or None)
    return None if found is None else Answer(found)


def page_with(page: Page, stream: str, records: str, answer: Answer) -> Page:
    """Return the stream's page with the answer beside the form."""
    still = render(
        "explain.html",
        name=stream,
        records=records,
        found=answer.found,
        problem=answer.problem,
        advice=answer.advice,
    )
    return replace(page, still=still)
