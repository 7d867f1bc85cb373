"""What `router start` prints at its end."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING

from router.jobs import shown

if TYPE_CHECKING:
    from collections.abc import Mapping

    from headrace.config.load import LoadedStream
    from router.ledger import Counts


def as_json(stream: LoadedStream, counts: Mapping[str, Counts]) -> str:
    """Return the counts of every output as one JSON object."""
    outputs = {name: asdict(count) for name, count in counts.items()}
    return json.dumps({"stream": stream.config.name, "outputs": outputs})


def as_text(stream: LoadedStream, counts: Mapping[str, Counts]) -> str:
    """Return a line per output."""
    width = max(len(name) for name in counts)
    lines = [
        f"  {name:<{width}}  "
        + ", ".join(f"{what} {value:,}" for what, value in shown(count).items())
        for name, count in counts.items()
    ]
    return "\n".join([f"stream {stream.config.name}", *lines])
