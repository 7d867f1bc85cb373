"""What a registry said no to: asked again after a while, and later each time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable

    from headrace.registry.unusable import UnusableSchema

# Between registries of one cluster an id may take a moment to be known everywhere, and somebody
# may register it yet: a second is little, and records that need it come by the thousand.
FIRST_WAIT_S: Final = 1.0
LONGEST_WAIT_S: Final = 300.0
MOST_REFUSALS: Final = 10_000


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
