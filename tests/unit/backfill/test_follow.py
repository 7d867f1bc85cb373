"""Following tables through any commits, against an oracle that knows only rows and batches."""

from __future__ import annotations

import itertools
import json
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from backfill.plan.steps import Limits
from backfill.plan.units import Unit
from headrace.errors import Terminal
from stream_app.follow.follower import Ceiling, Follower, TableStatus, UnitPart, unit_parts
from stream_app.follow.position import (
    Commit,
    CommitRules,
    FollowedSnapshot,
    FollowPosition,
    Hop,
    OnOverwrite,
    beginning,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

ROOMY = Limits(max_rows=10**9, max_bytes=10**12)
MIN_US = -(10**15)
NOW_US = 10**15
THRESHOLD_US = 50

Row = tuple[int, int]  # when it arrived, and its name


@dataclass
class Snapshot:
    number: int
    parent: int | None
    operation: str
    files: dict[str, tuple[Row, ...]]


@dataclass
class Lake:
    """A table in memory: snapshots of files of rows, as Iceberg has them."""

    name: str = "lake.a.b"
    on_overwrite: OnOverwrite = "fail"
    complete_us: int | None = None
    has_writer: bool = False
    nulls_of_a_hop: int = 0
    snapshots: list[Snapshot] = field(default_factory=list)
    every: list[Row] = field(default_factory=list)
    numbers: itertools.count[int] = field(default_factory=itertools.count)

    @property
    def head(self) -> Snapshot | None:
        return self.snapshots[-1] if self.snapshots else None

    def commit(self, operation: str, gone: Sequence[str], *new: Sequence[Row]) -> None:
        head = self.head
        files = {} if head is None else {k: v for k, v in head.files.items() if k not in gone}
        files |= {f"f{next(self.numbers)}": tuple(rows) for rows in new if rows}
        number = 100 + next(self.numbers)
        parent = None if head is None else head.number
        self.snapshots.append(Snapshot(number, parent, operation, files))

    def append(self, *files: Sequence[int]) -> None:
        rows = [[(time, next(self.numbers)) for time in file] for file in files]
        self.every += [row for file in rows for row in file]
        self.commit("append", (), *rows)

    def compact(self, which: set[int]) -> None:
        held = self.head.files if self.head else {}
        gone = [name for number, name in enumerate(held) if number in which]
        if gone:
            self.commit("replace", gone, sorted(row for name in gone for row in held[name]))

    def expire(self, needed: set[int]) -> bool:
        """Let all go that nobody needs; whether any was newer than those."""
        gone = [one for one in self.snapshots[:-1] if one.number not in needed]
        self.snapshots = [one for one in self.snapshots if one not in gone]
        return any(one.number > max(needed, default=0) for one in gone)

    def at(self, number: int | None) -> dict[str, tuple[Row, ...]]:
        if number is None:
            return {}
        (found,) = [one for one in self.snapshots if one.number == number]
        return found.files

    # What a follower asks of a table.

    def look(self) -> TableStatus:
        return TableStatus(
            None if self.head is None else self.head.number, self.complete_us, self.has_writer
        )

    def hops(self, seen: FollowedSnapshot, until_us: int) -> tuple[Hop, ...]:
        def loses(one: int | None, other: int) -> bool:
            return not set(self.at(one)) <= set(self.at(other))

        def is_behind(commit: Commit) -> bool:
            before, after = self.at(commit.parent), self.at(commit.snapshot)
            gone = [row for name in set(before) - set(after) for row in before[name]]
            return set(after) <= set(before) and all(t < until_us for t, _ in gone)

        known = {one.number for one in self.snapshots}
        line = [
            Commit(one.number, one.parent if one.parent in known else None, one.operation)
            for one in self.snapshots
            if seen.snapshot is None or one.number > seen.snapshot
        ]
        return CommitRules(self.name, self.on_overwrite, loses, is_behind).hops(seen.snapshot, line)

    def units(self, snapshot: int | None, from_us: int) -> list[Unit]:
        found = [one for item in self.at(snapshot).items() for one in self.cut(*item)]
        return [unit for unit in found if unit.max_ts_us >= from_us]

    def added(self, hop: Hop, since_us: int, before_us: int) -> list[Unit]:
        before, after = self.at(hop.before), self.at(hop.after)
        found = [one for name in after if name not in before for one in self.cut(name, after[name])]
        return [one for one in found if one.max_ts_us >= since_us and one.min_ts_us < before_us]

    def null_times(self, hop: Hop, since_us: int) -> int:  # noqa: ARG002 - wherever they are
        return self.nulls_of_a_hop

    def cut(self, name: str, rows: Sequence[Row]) -> list[Unit]:
        """Cut a file as a replay does: no unit spans more than the threshold."""
        cells: dict[int, list[int]] = {}
        for time, _ in rows:
            cells.setdefault(time // THRESHOLD_US, []).append(time)
        return [
            Unit(
                *(self.name, name, min(held), max(held), len(held), 100 * len(held)),
                window_us=(cell * THRESHOLD_US, (cell + 1) * THRESHOLD_US),
            )
            for cell, held in cells.items()
        ]

    def rows_added(self, hop: Hop, since_us: int, before_us: int) -> int:
        before, after = self.at(hop.before), self.at(hop.after)
        rows = [row for name in after if name not in before for row in after[name]]
        return sum(since_us <= time < before_us for time, _ in rows)

    def read(self, part: UnitPart) -> list[Row]:
        # Only what the part's own snapshot has can be counted on to be there.
        rows = self.at(part.snapshot)[part.unit.path]
        low, end = part.unit.window_us or (part.from_us, part.before_us)
        return [row for row in rows if max(low, part.from_us) <= row[0] < min(end, part.before_us)]


@dataclass
class Query:
    """What Spark does with a follower: a place, batches, and an end at any time."""

    lakes: dict[str, Lake]
    place: FollowPosition
    limits: Limits = ROOMY
    threshold_us: int = THRESHOLD_US
    batches: list[list[Row]] = field(default_factory=list)
    needed: set[int] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.restart()

    @classmethod
    def of(cls, *lakes: Lake, limits: Limits = ROOMY) -> Query:
        snapshots = {lake.name: lake.look().snapshot for lake in lakes}
        begin = beginning(MIN_US, snapshots, since_us=MIN_US)
        return cls({lake.name: lake for lake in lakes}, begin, limits)

    def restart(self) -> None:
        self.place = FollowPosition.from_json(json.loads(json.dumps(self.place.to_json())))
        self.follower = Follower(self.lakes, self.threshold_us, self.limits, lambda: NOW_US)

    def step(self, *, dies: bool = False) -> bool:
        """Do a batch; whether there was one. One that dies is read again by whoever comes next."""
        end = self.follower.next(self.place, look=True)
        if end == self.place:
            return False
        self.needed = {one for seen in end.tables.values() for one in seen.needed}
        rows = self.rows(end)
        if dies:
            self.restart()
            assert Counter(self.rows(end)) == Counter(rows)
        self.place = end
        self.batches.append(rows)
        return True

    def rows(self, end: FollowPosition) -> list[Row]:
        return [
            row
            for name, lake in self.lakes.items()
            for part in unit_parts(name, lake, self.place, end)
            for row in lake.read(part)
        ]

    def drain(self) -> None:
        for _ in range(1_000):
            if not self.step():
                return
        raise AssertionError("it comes to no end")

    @property
    def rows_seen(self) -> list[Row]:
        return [row for batch in self.batches for row in batch]


def beyond_the_bound(batches: Sequence[Sequence[Row]], threshold_us: int) -> list[Row]:
    """Return the rows that came after one that is newer by more than the threshold."""
    newest, found = MIN_US, []
    for batch in batches:
        found += [row for row in batch if newest > row[0] + threshold_us]
        newest = max([newest, *(time for time, _ in batch)])
    return found


times = st.one_of(st.integers(0, 300), st.integers(0, 2_000), st.sampled_from([7, 9_000_000]))
files = st.lists(st.lists(times, min_size=1, max_size=5), min_size=1, max_size=3)
which = st.sets(st.integers(0, 8), min_size=1)
deeds = st.lists(
    st.one_of(
        st.tuples(st.just("append"), files),
        st.tuples(st.just("compact"), which),
        st.tuples(st.sampled_from(["expire", "step", "dies", "drain"]), st.none()),
    ),
    max_size=25,
)
limits = st.sampled_from([ROOMY, Limits(3, 10**12), Limits(10, 700)])


@settings(max_examples=400)
@given(deeds, limits)
def test_every_row_comes_once_whatever_is_committed_meanwhile(
    deeds: list[tuple[str, object]], limits: Limits
) -> None:
    lake = Lake()
    query, hidden = Query.of(lake, limits=limits), False
    try:
        for deed, what in deeds:
            match deed, what:
                case "append", list():
                    lake.append(*what)
                case "compact", set():
                    lake.compact(what)
                case "expire", _:
                    hidden |= lake.expire(query.needed | needed(query.place))
                case "drain", _:
                    query.drain()
                case _:
                    query.step(dies=deed == "dies")
        query.drain()
    except Terminal as problem:
        told = problem.message
    else:
        told = ""
        assert Counter(query.rows_seen) == Counter(lake.every)
    assert not told or (hidden and "cannot tell which rows are new" in told)
    assert max(Counter(query.rows_seen).values(), default=1) == 1
    late = beyond_the_bound(query.batches, query.threshold_us)
    assert query.place.late_rows >= len(late)


def needed(place: FollowPosition) -> set[int]:
    return {one for seen in place.tables.values() for one in seen.needed}


@settings(max_examples=200)
@given(st.lists(st.tuples(st.sampled_from("ab"), files, st.integers(0, 3)), max_size=12), limits)
def test_tables_that_are_complete_keep_the_bound_absolutely_together(
    commits: list[tuple[str, list[list[int]], int]], limits: Limits
) -> None:
    lakes = {name: Lake(name, complete_us=MIN_US, has_writer=True) for name in "ab"}
    query = Query.of(*lakes.values(), limits=limits)
    for number, (name, added, steps) in enumerate(commits):
        lakes[name].append(*added)
        for one, lake in lakes.items():
            coming = [t for n, of, _ in commits[number + 1 :] if n == one for f in of for t in f]
            lake.complete_us = min(coming, default=NOW_US)
        for _ in range(steps):
            query.step()
    query.drain()
    assert Counter(query.rows_seen) == Counter(lakes["a"].every + lakes["b"].every)
    assert not beyond_the_bound(query.batches, query.threshold_us)
    assert query.place.late_rows == 0


@settings(max_examples=200)
@given(files, limits)
def test_what_is_there_at_the_start_comes_within_the_bound(
    added: list[list[int]], limits: Limits
) -> None:
    lake = Lake()
    lake.append(*added)
    query = Query.of(lake, limits=limits)
    query.drain()
    assert Counter(query.rows_seen) == Counter(lake.every)
    assert not beyond_the_bound(query.batches, query.threshold_us)


def test_a_backlog_comes_in_batches_of_the_size_that_was_asked_for() -> None:
    lake = Lake()
    lake.append(*([n] for n in range(100)))
    query = Query.of(lake, limits=Limits(8, 10**12))
    query.drain()
    assert max(map(len, query.batches)) == 8
    assert len(query.batches) <= 20


def test_a_lone_row_far_ahead_does_not_make_a_batch_of_every_threshold_in_between() -> None:
    lake = Lake()
    lake.append([1, 2, 3], [9_000_000])
    query = Query.of(lake)
    query.drain()
    assert [len(batch) for batch in query.batches] == [3, 1]


def test_what_is_committed_late_goes_first_and_is_counted() -> None:
    lake = Lake()
    lake.append([100, 200])
    query = Query.of(lake)
    query.drain()
    # 150 is within the bound of what came before; 40 and 60 are not.
    lake.append([40, 60, 150, 230])
    query.drain()
    assert query.place.late_rows == 2
    first = next(batch for batch in query.batches if 40 in dict(batch))
    assert 230 not in dict(first)


def test_rows_without_a_time_are_counted_with_every_hop() -> None:
    lake = Lake(nulls_of_a_hop=3)
    lake.append([10])
    query = Query.of(lake)
    query.drain()
    assert query.place.null_times == 0
    for _ in range(2):
        lake.append([500])
        query.drain()
    assert query.place.null_times == 6
    assert FollowPosition.from_json(query.place.to_json()) == query.place


def test_a_table_that_is_not_complete_holds_the_others_and_is_named() -> None:
    ahead, behind = Lake("a"), Lake("b", complete_us=100, has_writer=True)
    ahead.append([90, 140, 151, 500])
    query = Query.of(ahead, behind)
    query.drain()
    assert [time for time, _ in query.rows_seen] == [90, 140]
    waits = query.follower.waits_for(query.place)
    assert waits == Ceiling(100 + THRESHOLD_US + 1, "b", has_writer=True)
    behind.append([120])
    behind.complete_us = 1_000
    query.drain()
    assert [sorted(dict(batch)) for batch in query.batches] == [[90, 140], [120, 151], [500]]
    assert query.follower.waits_for(query.place) is None


def test_how_far_it_is_behind_is_known_from_the_first_batch_on() -> None:
    lake = Lake()
    lake.append([10, 500])
    query = Query.of(lake)
    query.step()
    assert (query.place.until_us, query.place.newest_us) == (11, 500)
    lake.append([700])
    query.drain()
    assert query.place.newest_us == 700


def test_what_is_left_for_the_next_batch_waits_for_nobody() -> None:
    lake = Lake()
    lake.append([10, 100, 200, NOW_US + 1_000])
    query = Query.of(lake)
    for time in (10, 100, 200):
        assert query.follower.waits_for(query.place) is None
        query.step()
        assert [one for one, _ in query.batches[-1]] == [time]
    assert query.follower.waits_for(query.place) == Ceiling(
        NOW_US + THRESHOLD_US + 1, lake.name, has_writer=False
    )


def test_an_overwrite_is_refused_by_its_name_or_passed_by() -> None:
    lake = Lake()
    lake.append([10], [20])
    query = Query.of(lake)
    query.drain()
    lake.commit("overwrite", list(lake.at(lake.look().snapshot))[:1], [(15, 999)])
    with pytest.raises(Terminal, match=rf"snapshot {lake.look().snapshot} .* \(overwrite\)"):
        query.step()
    lake.on_overwrite = "skip"
    lake.append([30])
    query.drain()
    assert [time for time, _ in query.rows_seen] == [10, 20, 30]


def test_what_was_delivered_may_be_removed() -> None:
    lake = Lake()
    lake.append([10], [20])
    query = Query.of(lake)
    query.drain()
    lake.append([30])
    lake.commit("delete", list(lake.at(lake.look().snapshot))[:1])
    query.drain()
    assert [time for time, _ in query.rows_seen] == [10, 20, 30]
    lake.append([40])
    lake.commit("delete", list(lake.at(lake.look().snapshot))[-1:])
    with pytest.raises(Terminal, match=r"\(delete\) changed existing rows"):
        query.step()


def test_nothing_older_than_the_start_is_ever_read() -> None:
    lake = Lake()
    lake.append([10, 20, 30])
    query = Query({lake.name: lake}, beginning(20, {lake.name: lake.look().snapshot}, since_us=20))
    query.drain()
    lake.append([15, 25, 35])
    query.drain()
    assert sorted(time for time, _ in query.rows_seen) == [20, 25, 30, 35]


def test_from_now_on_is_what_is_committed_from_now_on() -> None:
    lake = Lake()
    lake.append([10, 20, 30])
    begin = beginning(NOW_US, {lake.name: lake.look().snapshot}, since_us=MIN_US)
    query = Query({lake.name: lake}, begin)
    query.drain()
    lake.append([15, 35])
    query.drain()
    assert [time for time, _ in query.rows_seen] == [15, 35]
    assert query.place.late_rows == 0
