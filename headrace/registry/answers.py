"""What a registry answered: schemas, which are stored for its outages, and refusals."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

import structlog

from headrace import state_files
from headrace.errors import Terminal

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

# Between registries of one cluster an id may take a moment to be known everywhere, and somebody
# may register it yet: a second is little, and records that need it come by the thousand.
FIRST_WAIT_S: Final = 1.0
LONGEST_WAIT_S: Final = 300.0
MOST_REFUSALS: Final = 10_000

log = structlog.get_logger(__name__)


class UnusableSchema(Terminal):
    """A schema that no record can be read with; `reason` goes on where `what` ends."""

    def __init__(self, what: str, reason: str) -> None:
        self.what = what
        self.reason = reason
        super().__init__(f"{what} {reason}")

    def again(self) -> UnusableSchema:
        """Return the same error without where it was raised before."""
        return type(self)(self.what, self.reason)


class UnknownSchema(UnusableSchema):
    """What the registry says that it does not have."""

    def __init__(self, what: str, reason: str = "is not in the registry") -> None:
        super().__init__(what, reason)


class AnswersOnDisk:
    """A folder with a file for each answer. A damaged file is as good as none."""

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder
        self._warned = False

    def find(self, kind: str, name: str) -> dict[str, object] | None:
        """Return the stored answer, if it is undamaged."""
        if self._folder is None:
            return None
        try:
            stored = json.loads(self._path(kind, name).read_bytes())
            answer, digest = stored["answer"], stored["sha256"]
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
            if not self._warned:
                log.warning(
                    "the registry's answers cannot be stored on disk", reason=error.strerror
                )
            self._warned = True

    def _path(self, kind: str, name: str) -> Path:
        # A subject may have any name, a path's among them.
        file = hashlib.sha256(name.encode()).hexdigest()[:32]
        return (self._folder or Path()) / kind / f"{file}.json"


@dataclass(frozen=True, slots=True)
class _Refusal:
    error: UnusableSchema
    until: float
    wait_s: float


class Refusals:
    """Refusals by what was asked. A silent registry refuses nothing, and is not noted here."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._known: dict[str, _Refusal] = {}

    def check(self, asked: str) -> None:
        """Raise what was said the last time, as long as it is not to be asked again."""
        known = self._known.get(asked)
        if known is not None and self._clock() < known.until:
            raise known.error.again()

    def add(self, asked: str, error: UnusableSchema) -> None:
        """Note a refusal; the next question waits twice as long as after the one before."""
        known = self._known.get(asked)
        wait_s = FIRST_WAIT_S if known is None else min(2 * known.wait_s, LONGEST_WAIT_S)
        if known is None and len(self._known) >= MOST_REFUSALS:
            self._known.clear()
        self._known[asked] = _Refusal(error.again(), self._clock() + wait_s, wait_s)

    def forget(self, asked: str) -> None:
        """Note that it is good now."""
        self._known.pop(asked, None)


def _digest(answer: Mapping[str, object]) -> str:
    return hashlib.sha256(json.dumps(answer, sort_keys=True).encode()).hexdigest()
