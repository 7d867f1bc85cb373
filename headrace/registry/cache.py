"""Answers of a registry that are kept on disk, so that a restart during its outage knows them."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import TYPE_CHECKING

import structlog

from headrace import state_files

if TYPE_CHECKING:
    from collections.abc import Mapping

log = structlog.get_logger(__name__)


class AnswersOnDisk:
    """A folder with a file for each answer. A damaged file is as good as none."""

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder
        self._told = False

    def find(self, kind: str, name: str) -> dict[str, object] | None:
        """Return the answer that was kept, if it is as it was."""
        if self._folder is None:
            return None
        try:
            kept = json.loads(self._path(kind, name).read_bytes())
            answer, digest = kept["answer"], kept["sha256"]
        except (OSError, ValueError, TypeError, KeyError, RecursionError):
            return None
        return answer if isinstance(answer, dict) and digest == _digest(answer) else None

    def keep(self, kind: str, name: str, answer: Mapping[str, object]) -> None:
        """Keep an answer: whole, or not at all."""
        if self._folder is None:
            return
        text = json.dumps({"sha256": _digest(answer), "answer": answer})
        try:
            state_files.write(self._path(kind, name), text.encode())
        except OSError as error:
            # Work goes on without: only an outage would show it.
            if not self._told:
                log.warning("the registry's answers cannot be kept", reason=error.strerror)
            self._told = True

    def _path(self, kind: str, name: str) -> Path:
        # A subject may have any name, a path's among them.
        file = hashlib.sha256(name.encode()).hexdigest()[:32]
        return (self._folder or Path()) / kind / f"{file}.json"


def _digest(answer: Mapping[str, object]) -> str:
    return hashlib.sha256(json.dumps(answer, sort_keys=True).encode()).hexdigest()
