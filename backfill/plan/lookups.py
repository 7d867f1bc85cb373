"""Which state of a lookup each step of a replay joins with."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

# So many changes each end a step. A table that changes more often than that would else cut a
# replay into more steps than it has time for: then they are this far apart.
MOST_EXACT = 2_000
FINEST_US = 30_000_000
MOST_NAMED = 3


@dataclass(frozen=True, slots=True)
class PlannedLookup:
    """One lookup in a plan: its columns as Iceberg's JSON, and its snapshots, each from a step on.

    A snapshot is None where the table has none: it holds nothing.
    """

    name: str
    table: str
    as_of: str
    columns: str
    from_step: tuple[tuple[int, int | None], ...]

    def at_step(self, step: int) -> int | None:
        """Return the snapshot that a step joins with."""
        after = bisect_right(self.from_step, step, key=lambda run: run[0])
        return self.from_step[max(0, after - 1)][1]

    @property
    def snapshots(self) -> tuple[int, ...]:
        """All snapshots that the replay needs, in the order of their first use."""
        return tuple(dict.fromkeys(one for _, one in self.from_step if one is not None))

    def to_json(self) -> dict[str, object]:
        """Return it for a machine, with the states that the replay joins with."""
        held = {"name": self.name, "table": self.table, "as_of": self.as_of}
        return held | {"snapshots": self.snapshots}

    def to_text(self) -> str:
        """Write it in a line."""
        held = ", ".join(map(str, self.snapshots)) or "none: the table was empty"
        if len(self.snapshots) > MOST_NAMED:
            held = f"{self.snapshots[0]} to {self.snapshots[-1]}"
        count = len(self.snapshots)
        many = f"{count:,} snapshots" if count > 1 else "snapshot"
        return f"lookup {self.name}: {self.table} as of {self.as_of}, {many} {held}"


def step_ends(
    times_us: Iterable[int], most_exact: int = MOST_EXACT, finest_us: int = FINEST_US
) -> list[int]:
    """Return where steps are to end so that none goes on beyond a change.

    Of more changes than that, one that follows a cut sooner waits until the time is over: a record
    is then joined with a state that was replaced at most so long before it arrived.
    """
    times = sorted(times_us)
    if len(times) <= most_exact:
        return times
    found: list[int] = []
    for time_us in times:
        soonest_us = found[-1] + finest_us if found else time_us
        # What the last cut already waits for is behind it.
        if not found or time_us > found[-1]:
            found.append(max(time_us, soonest_us))
    return found


def snapshot_runs(snapshots: Sequence[int | None]) -> tuple[tuple[int, int | None], ...]:
    """Return, of one snapshot for each step, where another one begins."""
    changed = [
        (step, snapshot)
        for step, snapshot in enumerate(snapshots)
        if step == 0 or snapshot != snapshots[step - 1]
    ]
    return tuple(changed) or ((0, None),)
