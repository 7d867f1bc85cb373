"""The quarantines of a workspace's streams: what the control room knows of them, and does to them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fleet.quarantine_edits import editable, save_change, try_change
from fleet.quarantine_replays import QuarantineReplays
from fleet.quarantine_rows import quarantine_row
from headrace.config.edit.known_checks import KnownChecks

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from fleet.stream_origin import StreamOrigin
    from headrace.http.file_rows import FilesSaved
    from headrace.http.quarantine_rows import (
        EditableStream,
        QuarantineReplay,
        QuarantineRow,
        QuarantineTrial,
    )


class Quarantines:
    """Answers by a stream's name; None where there is no such stream, or it has no quarantine."""

    def __init__(self, find: Callable[[str], StreamOrigin | None]) -> None:
        self._find = find
        self._replays = QuarantineReplays()
        self._checks = KnownChecks()

    def row(self, stream: str) -> QuarantineRow | None:
        """Return the rejected records, read from Kafka now."""
        origin = self._of(stream)
        return None if origin is None else quarantine_row(origin.workspace, origin.stream)

    def files(self, stream: str) -> EditableStream | None:
        """Return the files that say what becomes of the records."""
        origin = self._of(stream)
        return None if origin is None else editable(origin)

    def trial(self, stream: str, texts: Mapping[str, str]) -> QuarantineTrial | None:
        """Return what the stream would make of its rejected records with some files changed."""
        origin = self._of(stream)
        return None if origin is None else try_change(origin, texts, self._checks)

    def save(
        self, stream: str, texts: Mapping[str, str], seen: Mapping[str, str]
    ) -> FilesSaved | None:
        """Write changed files, all of them or none."""
        origin = self._of(stream)
        return None if origin is None else save_change(origin, texts, seen, self._checks)

    def start_replay(self, stream: str) -> QuarantineReplay | None:
        """Start a replay."""
        origin = self._of(stream)
        return None if origin is None else self._replays.start(origin)

    def last_replay(self, stream: str) -> QuarantineReplay | None:
        """Return the last replay."""
        origin = self._of(stream)
        return None if origin is None else self._replays.last(origin)

    def _of(self, stream: str) -> StreamOrigin | None:
        origin = self._find(stream)
        return None if origin is None or origin.stream.config.quarantine is None else origin
