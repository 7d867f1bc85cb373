"""From position to position: when the tables are looked at again, and how far the next batch goes.

What a batch holds follows from the positions that it lies between, and from nothing else: done again
after a crash it has the same rows.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, Protocol

from stream_app.follow.pending import PendingPiece, PendingPieces, piece_of
from stream_app.follow.position import FollowedSnapshot, FollowPosition

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from backfill.plan.steps import Limits
    from backfill.plan.units import Unit
    from stream_app.follow.position import Hop

NEVER_US: Final = -(2**63)


@dataclass(frozen=True, slots=True)
class TableStatus:
    """What a table says: its snapshot, and up to when it is complete.

    `complete_us` is None until its writer says so, and always if not `has_writer`: no lake writer
    fills it.
    """

    snapshot: int | None
    complete_us: int | None
    has_writer: bool


class Table(Protocol):
    """A table that is followed; its snapshots do not change."""

    def look(self) -> TableStatus:
        """Return how the table is now."""

    def hops(self, seen: FollowedSnapshot, until_us: int) -> tuple[Hop, ...]:
        """Return the way to the snapshot of the last look from another, dispatched up to a time."""

    def units(self, snapshot: int | None, from_us: int) -> Sequence[Unit]:
        """Return what a snapshot has that may have rows from a time on."""

    def added(self, hop: Hop, since_us: int, before_us: int) -> Sequence[Unit]:
        """Return what a hop has added that may have rows between two times."""

    def null_times(self, hop: Hop, since_us: int) -> int:
        """Count the rows without a time that a hop has added; raise where they are not to be left out."""

    def rows_added(self, hop: Hop, since_us: int, before_us: int) -> int:
        """Count the rows that a hop has added between two times, exactly."""


@dataclass(frozen=True, slots=True)
class UnitPart:
    """Rows of a unit between two times, and the snapshot that it is read at."""

    snapshot: int
    unit: Unit
    from_us: int
    before_us: int


@dataclass(frozen=True, slots=True)
class Ceiling:
    """Nothing at this time or later may be dispatched yet, because of a table.

    If not `has_writer`, the clock sets the time: the table never says up to when it is complete.
    """

    before_us: int
    table: str
    has_writer: bool


class Follower:
    """Decides where the next batch ends, for all tables of a query together."""

    def __init__(
        self,
        tables: Mapping[str, Table],
        threshold_us: int,
        limits: Limits,
        now_us: Callable[[], int],
    ) -> None:
        self._tables = tables
        self._threshold_us = threshold_us
        self._limits = limits
        self._now_us = now_us
        self._ceiling: Ceiling | None = None
        self._residue: tuple[Mapping[str, FollowedSnapshot], int, PendingPieces] | None = None

    def next(self, position: FollowPosition, *, look: bool) -> FollowPosition:
        """Return the position after this one; the same where there is nothing to dispatch.

        The tables are looked at only where all that came late is dispatched.
        """
        found = self._looked(position) if look and position.is_settled else position
        until_us = self._until(found)
        if found is position and until_us == position.until_us:
            return position
        reached = position.reached_us
        if until_us != found.until_us:
            reached = max(until_us, until_us if reached is None else reached)
        newest_us = found.newest_us
        if newest_us is None:
            # What was there at the start was no news to a look.
            newest_us = self._residue_of(found).newest_us
        return replace(
            found,
            number=position.number + 1,
            until_us=until_us,
            reached_us=reached,
            newest_us=newest_us,
        )

    def waits_for(self, position: FollowPosition) -> Ceiling | None:
        """Return what holds back all rows that are left, None where nothing does."""
        left_us, ceiling = self._residue_of(position).frontier_us(position.until_us), self._ceiling
        is_held = ceiling is not None and left_us is not None and left_us >= ceiling.before_us
        return ceiling if is_held else None

    def _until(self, position: FollowPosition) -> int:
        # What came late is older than what was dispatched before: it waits for nobody.
        ceilings_us = [position.base_us] + ([self._ceiling.before_us] if self._ceiling else [])
        residue = self._residue_of(position)
        end_us = residue.end_of_batch(
            position.until_us, max(ceilings_us), self._threshold_us, self._limits
        )
        if end_us is None:
            return position.until_us
        left_us = residue.frontier_us(end_us)
        is_settled = left_us is None or left_us >= position.base_us
        return max(end_us, position.base_us) if is_settled else end_us

    def _looked(self, position: FollowPosition) -> FollowPosition:
        looks = {name: table.look() for name, table in self._tables.items()}
        self._ceiling = self._lowest(looks)
        if all(look.snapshot == position.tables[name].snapshot for name, look in looks.items()):
            return position
        tables = {
            name: FollowedSnapshot(
                look.snapshot,
                self._tables[name].hops(position.tables[name], position.until_us),
            )
            for name, look in looks.items()
        }
        found = replace(position, look=position.look + 1, base_us=position.until_us, tables=tables)
        return self._with_what_came_late(found)

    def _with_what_came_late(self, position: FollowPosition) -> FollowPosition:
        times_us = [max(unit.min_ts_us, position.since_us) for unit in self._late_units(position)]
        null_times = (
            table.null_times(hop, position.since_us) for table, hop in self._hops(position)
        )
        found = replace(
            position,
            until_us=min([position.base_us, *times_us]),
            late_rows=position.late_rows + self._beyond_the_bound(position),
            null_times=position.null_times + sum(null_times),
        )
        newest_us = self._residue_of(found).newest_us
        return found if newest_us is None else replace(found, newest_us=newest_us)

    def _hops(self, position: FollowPosition) -> Iterator[tuple[Table, Hop]]:
        for name, table in self._tables.items():
            yield from ((table, hop) for hop in position.tables[name].hops)

    def _beyond_the_bound(self, position: FollowPosition) -> int:
        """Count what was committed too late to come within the bound of what came before."""
        if position.reached_us is None:
            return 0
        limit_us = position.reached_us - 1 - self._threshold_us
        return sum(
            table.rows_added(hop, position.since_us, limit_us)
            for table, hop in self._hops(position)
        )

    def _late_units(self, position: FollowPosition) -> Iterator[Unit]:
        for table, hop in self._hops(position):
            yield from table.added(hop, position.since_us, position.base_us)

    def _residue_of(self, position: FollowPosition) -> PendingPieces:
        if self._residue is None or self._residue[:2] != (position.tables, position.base_us):
            self._residue = position.tables, position.base_us, PendingPieces(self._pieces(position))
        return self._residue[2]

    def _pieces(self, position: FollowPosition) -> Iterator[PendingPiece]:
        low_us = max(position.base_us, position.until_us)
        late = self._late_units(position)
        found = [piece_of(unit, position.until_us, position.base_us) for unit in late]
        for name, table in self._tables.items():
            units = table.units(position.tables[name].snapshot, low_us)
            found += [piece_of(unit, low_us) for unit in units]
        yield from (piece for piece in found if piece is not None)

    def _lowest(self, looks: Mapping[str, TableStatus]) -> Ceiling:
        """Return how far the table that is the least complete lets a batch go."""
        now_us = self._now_us()
        ceilings = [
            Ceiling(_sure_us(look, now_us) + self._threshold_us + 1, name, look.has_writer)
            for name, look in looks.items()
        ]
        return min(ceilings, key=lambda one: (one.before_us, one.table))


def _sure_us(look: TableStatus, now_us: int) -> int:
    if not look.has_writer:
        # A table of another writer does not say it. What is ahead of the clock waits for the clock.
        return now_us
    return NEVER_US if look.complete_us is None else look.complete_us


def unit_parts(
    name: str, table: Table, start: FollowPosition, end: FollowPosition
) -> Iterator[UnitPart]:
    """Yield what a batch between two positions holds of a table."""
    seen = end.tables[name]
    same_look = start.look == end.look
    late_from = start.until_us if same_look else end.since_us
    late_before = min(end.until_us, end.base_us)
    if late_from < late_before:
        for hop in seen.hops:
            for unit in table.added(hop, end.since_us, end.base_us):
                if piece_of(unit, late_from, late_before) is not None:
                    yield UnitPart(hop.after, unit, late_from, late_before)
    main_from = max(end.base_us, start.until_us) if same_look else end.base_us
    if seen.snapshot is None or main_from >= end.until_us:
        return
    for unit in table.units(seen.snapshot, main_from):
        if piece_of(unit, main_from, end.until_us) is not None:
            yield UnitPart(seen.snapshot, unit, main_from, end.until_us)
