"""How far a query that follows tables is: the offset in Spark's log, and all that a restart needs.

A place says by two times and some snapshots which rows are dispatched. The tables were last looked
at when all older than `base_us` of their snapshots before was dispatched. Since then `hops` lead
to the snapshots that they have now: what was added on them comes late where it is older than
`base_us`, and goes first. Rows of the files that were added, older than `base_us` and than
`until_us`, are dispatched; and so are all rows of the snapshots older than both.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping


class Hop(NamedTuple):
    """Two snapshots with nothing but additions between them; None is a table without any."""

    before: int | None
    after: int


@dataclass(frozen=True, slots=True)
class Seen:
    """A table at its snapshot, and the hops that led there from the one before."""

    snapshot: int | None
    hops: tuple[Hop, ...] = ()

    @property
    def needed(self) -> set[int]:
        """The snapshots without which the batch cannot be read, or read again."""
        found = {one for hop in self.hops for one in hop if one is not None}
        return found if self.snapshot is None else {*found, self.snapshot}


@dataclass(frozen=True, slots=True)
class Place:
    """A place in all tables of a query together. Nothing older than `since_us` is ever read.

    `number` counts places, `look` how often news were found. `reached_us` is the end of what was
    ever dispatched; `late_rows` counts the rows that were committed later than the bound allows,
    `null_times` those without a time, which are left out.
    """

    number: int
    look: int
    since_us: int
    base_us: int
    until_us: int
    tables: Mapping[str, Seen]
    reached_us: int | None = None
    newest_us: int | None = None
    late_rows: int = 0
    null_times: int = 0

    @property
    def is_settled(self) -> bool:
        """Whether nothing that came late is left to dispatch."""
        return self.until_us >= self.base_us

    def to_json(self) -> dict[str, Any]:
        """Return the offset; the same place always gives the same text."""
        return {
            "number": self.number,
            "look": self.look,
            "since_us": self.since_us,
            "base_us": self.base_us,
            "until_us": self.until_us,
            "reached_us": self.reached_us,
            "newest_us": self.newest_us,
            "late_rows": self.late_rows,
            "null_times": self.null_times,
            "tables": {
                name: {"snapshot": seen.snapshot, "hops": [list(hop) for hop in seen.hops]}
                for name, seen in sorted(self.tables.items())
            },
        }

    @classmethod
    def from_json(cls, said: Mapping[str, Any]) -> Place:
        """Read an offset."""
        tables = {
            name: Seen(seen["snapshot"], tuple(Hop(*hop) for hop in seen["hops"]))
            for name, seen in said["tables"].items()
        }
        return cls(**{**said, "tables": tables})


def beginning(
    start_us: int, snapshots: Mapping[str, int | None], *, since_us: int, null_times: int = 0
) -> Place:
    """Return where to begin: nothing older than the start is to be read of what is there now."""
    tables = {name: Seen(snapshot) for name, snapshot in snapshots.items()}
    return Place(0, 0, since_us, start_us, start_us, tables, null_times=null_times)
