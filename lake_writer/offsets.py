"""What a table holds, told by its own commits: the next offset of every partition.

Each commit carries, under a name of the writer's own, where it ends. A batch that Spark
gives us again after a crash is cut by that, so that no row lands twice.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

WRITER: Final = "headrace.writer"
NEXT_OFFSETS: Final = "headrace.next-offsets"


def summary(writer: str, next_offsets: Mapping[int, int]) -> dict[str, str]:
    """Return what a commit says of itself."""
    ordered = {str(partition): next_offsets[partition] for partition in sorted(next_offsets)}
    return {WRITER: writer, NEXT_OFFSETS: json.dumps(ordered, separators=(",", ":"))}


def committed(writer: str, newest_first: Iterable[Mapping[str, str]]) -> dict[int, int]:
    """Return where that writer's last commit ended; empty where it has made none."""
    for commit in newest_first:
        if commit.get(WRITER) == writer and NEXT_OFFSETS in commit:
            held = json.loads(commit[NEXT_OFFSETS])
            return {int(partition): int(offset) for partition, offset in held.items()}
    return {}


def advanced(before: Mapping[int, int], batch: Mapping[int, int]) -> dict[int, int]:
    """Return the next offsets after a batch, given the last offset it holds per partition."""
    after = dict(before)
    for partition, last in batch.items():
        after[partition] = max(after.get(partition, 0), last + 1)
    return after
