"""Replayed rows as JSON Lines: one file per step, each there only when it is whole."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from backfill.tables.json_columns import json_objects, text_bytes, with_line_ends
from headrace import state_files
from headrace.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    import pyarrow as pa

    from backfill.read.source import LakeSource
    from backfill.run.pace import Pace

CERTIFICATE = "certificate.json"


class JsonlFolder:
    """A folder that takes one replay."""

    def __init__(self, folder: Path, *, resume: bool = False) -> None:
        self.folder = folder
        if not resume and folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
            raise UsageError(
                f"{folder} is not an empty folder", "name a new folder: each replay needs its own"
            )
        folder.mkdir(parents=True, exist_ok=True)

    @property
    def location(self) -> str:
        """Where the rows go, as `--to` says it."""
        return f"jsonl:{self.folder.absolute()}"

    def begin(self, sources: Mapping[str, LakeSource]) -> None:
        """Need nothing: a line is the row as stored."""

    def write_step(
        self, step: int, batches: Iterable[tuple[str, pa.RecordBatch]], pace: Pace
    ) -> Counter[str]:
        """Write the rows of one step; returns how many of each source."""
        counts: Counter[str] = Counter()
        target = self.folder / f"step-{step:06d}.jsonl"
        with state_files.writing(target) as file:
            for source, batch in batches:
                extra = (("__step__", step), ("__source__", source))
                lines = with_line_ends(json_objects(batch, extra))
                for start, end in pace.pieces(len(lines), lines.nbytes):
                    file.write(text_bytes(lines[start:end]))
                counts[source] += batch.num_rows
        return counts

    def finish(self, certificate: str) -> None:
        """Write the certificate, last of all."""
        state_files.write(self.folder / CERTIFICATE, certificate.encode())

    def remove(self) -> None:
        """Remove what a replay has written here, and nothing else."""
        for file in [*self.folder.glob("step-*.jsonl"), *self.folder.glob("*.part")]:
            file.unlink()
        (self.folder / CERTIFICATE).unlink(missing_ok=True)
        if not any(self.folder.iterdir()):
            self.folder.rmdir()
