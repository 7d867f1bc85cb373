"""One place for all sources of a query: whoever is asked first decides, the others do as it did.

Spark asks each source for itself, each in a process of its own, always in the same order. What is
decided is kept in a folder of the run, for the others and for nothing else: Spark's log has it too.
"""

from __future__ import annotations

import contextlib
import json
from typing import TYPE_CHECKING, Final

from backfill.follow.place import Place
from headrace import state_files
from headrace.locks import AlreadyHeld, hold

if TYPE_CHECKING:
    from pathlib import Path

KEPT: Final = 16


class Decisions:
    """The places that were decided lately in a run."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._lead: contextlib.ExitStack | None = None

    def leads(self) -> bool:
        """Whether this process decides: the first that asks does, until it ends."""
        if self._lead is None:
            lead = contextlib.ExitStack()
            try:
                lead.enter_context(hold(self._folder / "lead", "the follower", "wait for it"))
            except AlreadyHeld:
                return False
            self._lead = lead
        return True

    def after(self, place: Place) -> Place | None:
        """Return what was decided to come after a place."""
        try:
            said = json.loads(self._file(place.number + 1).read_text(encoding="utf-8"))
        except FileNotFoundError:
            return None
        # A number may have been another place's before the query went back to an earlier one.
        return Place.from_json(said["to"]) if said["from"] == place.to_json() else None

    def keep(self, place: Place, following: Place) -> None:
        """Keep what comes after a place."""
        said = {"from": place.to_json(), "to": following.to_json()}
        # Spark's log has it too: a later start needs none of these.
        file = self._file(following.number)
        state_files.write(file, json.dumps(said).encode(), lasting=False)
        self._file(following.number - KEPT).unlink(missing_ok=True)

    def say(self, text: str) -> None:
        """Let whoever runs the query know what it waits for; nothing, if for nothing."""
        file = self._folder / "waits"
        if (file.read_text(encoding="utf-8") if file.exists() else "") != text:
            state_files.write(file, text.encode(), lasting=False)

    def close(self) -> None:
        """Let another lead."""
        if self._lead is not None:
            self._lead.close()
            self._lead = None

    def _file(self, number: int) -> Path:
        return self._folder / f"{number}.json"
