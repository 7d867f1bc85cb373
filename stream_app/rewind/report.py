"""What `headrace rewind` prints."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from headrace.application.places import from_json, to_json
from headrace.times import format_time_us
from stream_app.rewind.batches import shown

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from stream_app.rewind.batches import Batch
    from stream_app.rewind.rewinding import Rewind


def list_text(name: str, batches: Sequence[Batch]) -> str:
    """Return the batches as a table."""
    width = max(len("batch"), *(len(str(one.number)) for one in batches))
    lines = [f"application {name}", f"  {'batch':>{width}}  {'began':<27}  read up to"]
    for one in batches:
        where = f"cannot be gone back to: {one.obstacle}" if one.obstacle else _where(one)
        lines.append(f"  {one.number:>{width}}  {format_time_us(one.began_us)}  {where}")
    return "\n".join(lines)


def list_json(name: str, batches: Sequence[Batch]) -> str:
    """Return the same for a pipeline."""
    return json.dumps({"application": name, "batches": [_facts(one) for one in batches]})


def rewind_text(name: str, found: Rewind) -> str:
    """Return what going back comes to, line by line."""
    many = "1 batch" if found.later == 1 else f"{found.later} batches"
    return (
        f"application {name} goes back to {found.batch}: {many} after it cut\n"
        f"  read up to {_where(found.batch)}\n"
        f"  {found.results}"
    )


def rewind_json(name: str, found: Rewind, *, done: bool) -> str:
    """Return the same for a pipeline."""
    facts = {"application": name, "done": done, **_facts(found.batch), "batches_cut": found.later}
    return json.dumps({**facts, "results": found.results, "kept_in": str(found.kept)})


def _where(batch: Batch) -> str:
    # Sources that follow tables have one place in common.
    return "; ".join(dict.fromkeys(map(shown, batch.offsets))) or "nothing yet"


def _facts(batch: Batch) -> dict[str, object]:
    return {
        "batch": batch.number,
        "began": format_time_us(batch.began_us),
        "sources": [_told(one) for one in batch.offsets],
        "obstacle": batch.obstacle,
    }


def _told(offset: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a source's offset in Spark's log, of topics the offsets alone."""
    if "tables" in offset:
        return offset
    if "past" in offset:
        return {**offset, "live": to_json(from_json(offset["live"]))}
    return to_json(from_json(offset))
