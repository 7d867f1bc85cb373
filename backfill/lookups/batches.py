"""Which state of a lookup a batch joins with: by its step in a replay, by what it took live.

Spark plans the parts of a Python batch source once for a query, and not for each micro-batch. But
a task knows of which batch it is, and Spark has written down how far that batch goes before it
begins: `offsets/<batch>` in the query's checkpoint.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
from typing import TYPE_CHECKING, Final

import msgspec

from headrace import state_files
from headrace.errors import Terminal

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from backfill.plan.lookups import PlannedLookup

# As many batches are kept as Spark itself keeps of its log.
KEPT_BATCHES: Final = 100


def current_batch(name: str) -> int:
    """Return the number of the micro-batch that this task is of."""
    from pyspark import TaskContext  # noqa: PLC0415 - a plan needs no Spark

    context = TaskContext.get()
    said = None if context is None else context.getLocalProperty("streaming.sql.batchId")
    if said is None:
        raise Terminal(
            f"lookup {name} was read outside of a batch, so the state to read is unknown",
            "join it with a stream; to collect it before the query begins, set as_of: today for a "
            "replay, or as_of: a time",
        )
    return int(said)


def steps_of(checkpoint: Path, batch: int) -> int:
    """Return how many steps a query is through with after a batch, which may not be committed."""
    text = (checkpoint / "offsets" / str(batch)).read_text(encoding="utf-8")
    # After the version and the metadata, a line for each source: all are at the same step.
    offsets = [json.loads(line) for line in text.splitlines()[2:] if line.startswith("{")]
    return min(int(offset["step"]) for offset in offsets)


def replayed_snapshot(lookup: PlannedLookup, checkpoint: Path, batch: int) -> int | None:
    """Return the snapshot that a batch of a replay joins with."""
    # A batch without data closes windows of what came before: it is still of the last step.
    return lookup.at_step(max(0, steps_of(checkpoint, batch) - 1))


def taken_snapshot(
    folder: Path,
    checkpoint: Path,
    batch: int,
    head: Callable[[], int | None],
    *,
    is_there: Callable[[int], bool],
) -> int | None:
    """Return the snapshot of a live batch: what is current when the first task of it asks.

    All tasks get the same, and get it again when the batch is done again. Where it is gone by
    then, they take what is current then.
    """
    plan = (checkpoint / "offsets" / str(batch)).read_bytes()
    # A checkpoint that was put back to an earlier batch makes another batch of that number.
    name = f"{batch}-{hashlib.sha256(plan).hexdigest()[:16]}"
    for attempt in range(KEPT_BATCHES):
        kept = folder / f"{name}-{attempt}.json"
        if not kept.exists():
            _forget(folder, batch)
            # Another task may be first: what it has found counts for all.
            state_files.write_first(kept, msgspec.json.encode(head()))
        taken = msgspec.json.decode(kept.read_bytes(), type=int | None)
        if taken is None or is_there(taken):
            return taken
    raise Terminal(
        f"each snapshot that batch {batch} chose for a lookup expired before it was read",
        "keep the table's snapshots longer",
    )


def _forget(folder: Path, batch: int) -> None:
    for old in folder.glob("*.json"):
        number = old.name.partition("-")[0]
        if number.isdecimal() and int(number) < batch - KEPT_BATCHES:
            with contextlib.suppress(FileNotFoundError):
                old.unlink()
