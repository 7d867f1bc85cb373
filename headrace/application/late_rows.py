"""How many records each batch of a query dropped as late.

The tally is taken when a batch is computed, before Spark commits it: a batch that is repeated
after a crash is counted once.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Self, TypeAlias

import msgspec
import structlog

from headrace import state_files
from headrace.errors import Terminal

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

ADVICE = (
    "remove it; the certificate then says for how many batches the late records were not counted"
)
log = structlog.get_logger(__name__)


# Says whether what a source gave between two offsets (as JSON) may be read once more.
MayRepeat: TypeAlias = "Callable[[str, str], bool]"


@dataclass(frozen=True, slots=True)
class DroppedLate:
    """How many records were dropped as late; where it is not exact, there were at least so many."""

    records: int = 0
    is_exact: bool = True

    def __add__(self, other: Self) -> DroppedLate:
        """Return both together."""
        return DroppedLate(self.records + other.records, self.is_exact and other.is_exact)

    def to_text(self) -> str:
        """Write the number."""
        return f"{self.records:,}" if self.is_exact else f"at least {self.records:,}"


Line: TypeAlias = tuple[int, DroppedLate]


class LateRows:
    """The tally of a query's batches; in a file, where one is named, over all of its starts."""

    def __init__(self, path: Path | None, may_repeat: MayRepeat) -> None:
        self.may_repeat = may_repeat
        self._path = path
        self._by_batch: dict[int, DroppedLate] = {}
        self._length = 0
        if path is not None and path.exists():
            self._by_batch, self._length = _read(path)

    def take(self, batch: int, dropped: DroppedLate) -> None:
        """Keep what a batch dropped, in place of what was kept of it before."""
        if dropped.records:
            log.info("records were dropped as late", batch=batch, records=dropped.to_text())
        if self._path is None:
            # A query that lasts has batches without number: only their sum counts.
            batch, dropped = 0, self.total + dropped
        else:
            if not self._length:
                state_files.write(self._path, b"")
            line = msgspec.json.encode([batch, dropped]) + b"\n"
            self._length = state_files.append(self._path, self._length, line)
        self._by_batch[batch] = dropped

    @property
    def total(self) -> DroppedLate:
        """What all batches dropped."""
        return sum(self._by_batch.values(), DroppedLate())

    def counted(self, batch: int) -> bool:
        """Whether a batch was counted: its process may have been killed before that."""
        return batch in self._by_batch


def _read(path: Path) -> tuple[dict[int, DroppedLate], int]:
    """Return what the whole lines say, and how long they are together.

    The batch of a last line that is not whole was not committed, and is repeated.
    """
    content = path.read_bytes()
    whole = content[: content.rfind(b"\n") + 1]
    try:
        lines = [msgspec.json.decode(one, type=Line) for one in whole.splitlines()]
    except (ValueError, msgspec.MsgspecError) as problem:
        raise Terminal(f"{path} cannot be read: {problem}", ADVICE) from None
    return dict(lines), len(whole)
