"""The arithmetic of a batch: what was read is written, filtered, dropped or quarantined."""

from __future__ import annotations

from dataclasses import dataclass

from headrace.errors import Terminal


@dataclass(frozen=True, slots=True)
class Counts:
    """What became of the records that one output read."""

    read: int = 0
    written: int = 0
    filtered: int = 0
    dropped: int = 0
    quarantined: int = 0

    def __add__(self, other: Counts) -> Counts:
        return Counts(
            self.read + other.read,
            self.written + other.written,
            self.filtered + other.filtered,
            self.dropped + other.dropped,
            self.quarantined + other.quarantined,
        )

    @property
    def accounted(self) -> int:
        """How many records we can say where they went."""
        return self.written + self.filtered + self.dropped + self.quarantined

    def checked(self) -> Counts:
        """Return these counts, or refuse to go on where a record is unaccounted for."""
        if self.read != self.accounted:
            raise Terminal(
                f"of {self.read} records read only {self.accounted} are accounted for: {self}",
                "nothing was acknowledged; report this with the stream's file",
            )
        return self
