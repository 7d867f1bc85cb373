"""From the fields of the form for a replay to a request as the API takes it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

# `select.SOURCE` is the candidate of a source.
SELECT: Final = "select."
TEXTS: Final = (
    "app",
    "start_ts",
    "end_ts",
    "max_misalignment",
    "order",
    "warmup",
    "cooldown",
    "rate_limit",
    "to",
)
LISTS: Final = ("tables", "regions")
CHECKS: Final = ("stage",)


def values_of(form: Mapping[str, Sequence[str]]) -> dict[str, list[str]]:
    """Return what a form says, without spaces around it, and without what was left empty."""
    stripped = {name: [one.strip() for one in values] for name, values in form.items()}
    found = {name: [one for one in values if one] for name, values in stripped.items()}
    return {name: values for name, values in found.items() if values}


def request_of(values: Mapping[str, Sequence[str]]) -> dict[str, object]:
    """Return the request of a form. What it does not know is left to be refused."""
    request: dict[str, object] = {}
    select: dict[str, str] = {}
    for name, said in values.items():
        if name.startswith(SELECT):
            select[name.removeprefix(SELECT)] = said[0]
        elif name in CHECKS:
            request[name] = True
        elif name in LISTS:
            request[name] = [one.strip() for text in said for one in text.split(",") if one.strip()]
        elif name != "run_id":
            request[name] = said[0]
    if select:
        request["select"] = select
    return request
