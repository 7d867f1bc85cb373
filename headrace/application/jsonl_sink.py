"""A result as JSON Lines: each batch in files of its own, which a repeated batch replaces."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from typing import TYPE_CHECKING

from headrace.checkpoint import query_id
from headrace.formats.encode import JSON_OPTIONS

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pyspark.sql import DataFrame


@dataclass(frozen=True, slots=True)
class JsonLines:
    """Writes the batches of one query. Spark's own sink would skip those of a second query."""

    folder: Path
    name: str
    checkpoint: Path

    def __call__(self, batch: DataFrame, batch_id: int, computed: Callable[[], None]) -> None:
        """Write a batch; what a killed one left under its name is replaced."""
        prefix = f"{prefix_of(self.name, query_id(self.checkpoint))}{batch_id:06d}"
        # A name that readers of folders pass over.
        draft = self.folder / f".{prefix}"
        batch.write.mode("overwrite").options(**JSON_OPTIONS).json(draft.as_uri())
        computed()
        for old in self.folder.glob(f"{prefix}-*.jsonl"):
            old.unlink()
        parts = (path for path in sorted(draft.glob("part-*")) if path.stat().st_size)
        for number, part in enumerate(parts):
            part.replace(self.folder / f"{prefix}-{number:03d}.jsonl")
        shutil.rmtree(draft)


def files_after(folder: Path, prefix: str, batch: int) -> list[Path]:
    """Return the files of a query's batches after this one."""
    found = sorted(folder.glob(f"{prefix}*.jsonl"))
    return [one for one in found if int(one.name.removeprefix(prefix).split("-")[0]) > batch]


def prefix_of(name: str, query: str) -> str:
    """Return what the names of a query's files begin with."""
    return f"{name}-{query[:8]}-"
