"""Offsets that a writer went past because the topic had lost them: the table keeps which."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping


def losses_property(writer: str) -> str:
    """Return the name of the table's property that says what was lost."""
    return f"headrace.lost.{writer}"


def losses_of(said: str | None) -> dict[int, list[range]]:
    """Read what the property says."""
    found = {} if said is None else json.loads(said)
    return {int(number): [range(*span) for span in spans] for number, spans in found.items()}


def with_losses(said: str | None, lost: Mapping[int, range]) -> str:
    """Return what the property says after more was lost; what touches becomes one."""
    found = losses_of(said)
    for number, span in lost.items():
        spans = found.setdefault(number, [])
        if spans and spans[-1].stop >= span.start:
            span = range(spans.pop().start, span.stop)  # noqa: PLW2901 - the two are one
        spans.append(span)
    told = {
        str(number): [[span.start, span.stop] for span in found[number]] for number in sorted(found)
    }
    return json.dumps(told, separators=(",", ":"))
