"""How many records a source rejected, stored by its tasks: a small file for each that met some.

A task that is repeated writes the same file again, so nothing is counted twice, in one run or
over several.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from typing import TYPE_CHECKING

import msgspec

from headrace.jvm.relay import put

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from headrace.jvm.relay import RelayAddress


def store_counts(
    folder: Path, work: str, counts: Mapping[str, int], relay: RelayAddress | None = None
) -> None:
    """Store the counts of a piece of work, which has the same name each time that it is done."""
    if not any(counts.values()):
        return
    name = hashlib.sha256(work.encode()).hexdigest()[:24]
    put(folder / f"{name}.json", msgspec.json.encode(counts), relay)


def counted(folder: Path) -> Counter[str]:
    """Return how many records were rejected so far, by what became of them."""
    total: Counter[str] = Counter()
    for path in folder.glob("*.json"):
        total.update(msgspec.json.decode(path.read_bytes(), type=dict[str, int]))
    return total
