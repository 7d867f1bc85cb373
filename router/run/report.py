"""What `router start` prints at its end."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from headrace.contract import QUARANTINE

if TYPE_CHECKING:
    from collections.abc import Mapping

    from router.ledger.entries import Counts


def as_json(stream: str, counts: Mapping[str, Counts]) -> str:
    """Return the counts of every output, and of the quarantine, as one JSON object."""
    return json.dumps(facts(stream, counts))


def facts(stream: str, counts: Mapping[str, Counts]) -> dict[str, object]:
    """Return the counts of every output, and of the quarantine."""
    outputs = {
        name: {**count.numbers, "dropped_by": dict(count.dropped)}
        for name, count in counts.items()
        if name != QUARANTINE
    }
    whole: dict[str, object] = {"stream": stream, "outputs": outputs}
    if QUARANTINE in counts:
        whole["quarantine"] = {"records": counts[QUARANTINE].quarantined}
    return whole


def as_text(stream: str, counts: Mapping[str, Counts]) -> str:
    """Return a line per output, and one for the quarantine."""
    width = max(len(name) for name in counts)
    lines = [f"stream {stream}"]
    for name, count in counts.items():
        shown_counts = (
            f"records {count.quarantined:,}"
            if name == QUARANTINE
            else ", ".join(f"{what} {value:,}" for what, value in count.shown.items())
        )
        lines.append(f"  {name:<{width}}  {shown_counts}")
    return "\n".join(lines)
