"""Which snapshot was current, against an oracle that was there all the time."""

from __future__ import annotations

from dataclasses import dataclass, field

from hypothesis import example, given, settings
from hypothesis import strategies as st
from pyiceberg.table.snapshots import Operation, Snapshot, SnapshotLogEntry, Summary

from headrace.iceberg.timeline import Timeline, timeline

MS = 1000
# What happens to a table, and how long after the last: an append, a rollback to one of those
# there, a replacement of the whole, an expiry of the oldest by Java's rules or by pyiceberg's.
EVENTS = st.lists(
    st.tuples(
        st.sampled_from(["append", "append", "rollback", "replace", "expire", "prune"]),
        st.integers(1, 50),
        st.integers(0, 5),
    ),
    max_size=25,
)


def entry(at_ms: int, snapshot_id: int) -> SnapshotLogEntry:
    return SnapshotLogEntry(snapshot_id=snapshot_id, timestamp_ms=at_ms)


def snapshot(at_ms: int, parent: int | None, number: int, operation: str = "append") -> Snapshot:
    return Snapshot(
        snapshot_id=number,
        parent_snapshot_id=parent,
        sequence_number=number,
        timestamp_ms=at_ms,
        manifest_list="",
        summary=Summary(Operation(operation)),
    )


@dataclass
class Table:
    """A table that keeps its log as Iceberg does, and beside it what was true."""

    log: list[SnapshotLogEntry] = field(default_factory=list)
    made: dict[int, Snapshot] = field(default_factory=dict)
    truth: list[tuple[int, int]] = field(default_factory=list)
    now_ms: int = 1
    count: int = 0

    def now(self, event: str, passed_ms: int, which: int) -> None:
        self.now_ms += passed_ms
        current = self.log[-1].snapshot_id if self.log else None
        if event in {"append", "replace"}:
            self.count += 1
            parent = current if event == "append" else None
            self.made[self.count] = snapshot(self.now_ms, parent, self.count)
            self.become(self.count)
        elif event == "rollback" and self.made:
            target = sorted(self.made)[which % len(self.made)]
            if target != current:
                self.become(target)
        elif event in {"expire", "prune"}:
            # What is current stays.
            gone = [one for one in sorted(self.made)[:which] if one != current]
            for one in gone:
                del self.made[one]
            if event == "prune":
                self.log = [entry for entry in self.log if entry.snapshot_id not in gone]
                self.made = {
                    number: one.model_copy(update={"parent_snapshot_id": None})
                    if one.parent_snapshot_id in gone
                    else one
                    for number, one in self.made.items()
                }

    def become(self, snapshot_id: int) -> None:
        self.log.append(entry(self.now_ms, snapshot_id))
        self.truth.append((self.now_ms, snapshot_id))

    def was(self, time_ms: int) -> int | None:
        """Look at every change there ever was."""
        found = None
        for at_ms, snapshot_id in self.truth:
            if at_ms <= time_ms:
                found = snapshot_id
        return found


def lived(events: list[tuple[str, int, int]]) -> Table:
    table = Table()
    for event in events:
        table.now(*event)
    return table


APPENDED = ("append", 1, 0)


@given(EVENTS)
# A rollback whose line went along with its snapshot, which the next one followed.
@example([APPENDED, APPENDED, ("rollback", 1, 0), APPENDED, ("prune", 1, 1)])
# A rollback that went along likewise, and was followed by another.
@example([APPENDED] * 3 + [("rollback", 1, 0), ("rollback", 1, 1), ("prune", 1, 1)])
@settings(max_examples=500, deadline=None)
def test_what_is_told_of_a_time_is_what_was_true(events: list[tuple[str, int, int]]) -> None:
    table = lived(events)
    found = timeline(table.log, table.made)
    for time_ms in range(table.now_ms + 2):
        told = found.at(time_ms * MS)
        known = found.begins_us is not None and time_ms * MS >= found.begins_us
        assert told == (table.was(time_ms) if known else None)


@given(EVENTS)
@settings(max_examples=200, deadline=None)
def test_nothing_is_forgotten_of_what_was_never_expired(events: list[tuple[str, int, int]]) -> None:
    table = lived([one for one in events if one[0] not in {"expire", "prune"}])
    found = timeline(table.log, table.made)
    assert [found.at(at_ms * MS) for at_ms, _ in table.truth] == [
        table.was(at_ms) for at_ms, _ in table.truth
    ]


@given(EVENTS)
@settings(max_examples=200, deadline=None)
def test_the_state_of_now_is_always_known(events: list[tuple[str, int, int]]) -> None:
    table = lived(events)
    found = timeline(table.log, table.made)
    assert found.at(table.now_ms * MS) == (table.log[-1].snapshot_id if table.log else None)


def made(at_ms: int, number: int, operation: str = "append") -> Snapshot:
    return snapshot(at_ms, number - 1 if number > 1 else None, number, operation)


def test_a_deletion_on_the_way_to_an_append_was_seen_by_nobody() -> None:
    log = [entry(10, 1), entry(500, 2), entry(620, 3)]
    snapshots = {1: made(10, 1), 2: made(500, 2, "delete"), 3: made(620, 3)}
    # By the times of commits; by what it looks like where they are no longer known.
    for commits in ([10, 620], []):
        assert timeline(log, snapshots, commits) == Timeline(((10 * MS, 1), (620 * MS, 3)))
    assert timeline(log, snapshots, [10, 500, 620]).at(500 * MS) == 2


def test_a_deletion_that_stood_for_a_while_counts() -> None:
    log = [entry(10, 1), entry(500, 2), entry(90_000, 3)]
    snapshots = {1: made(10, 1), 2: made(500, 2, "delete"), 3: made(90_000, 3)}
    assert timeline(log, snapshots).at(500 * MS) == 2


def test_of_two_lines_that_a_clock_put_in_the_wrong_order_the_later_written_counts() -> None:
    log = [entry(10, 1), entry(30, 2), entry(20, 3)]
    snapshots = {number: made(at_ms, number) for at_ms, number in ((10, 1), (30, 2), (20, 3))}
    assert timeline(log, snapshots).changes == ((10 * MS, 1), (20 * MS, 3))


def test_what_is_published_is_no_rollback() -> None:
    """Made apart, and current from later on: the oldest may be expired meanwhile."""
    log = [entry(at_ms, number) for at_ms, number in ((110, 2), (210, 3), (310, 4))]
    snapshots = {number: made(number * 100 - 100, number) for number in (2, 3, 4)}
    assert timeline(log, snapshots).changes == ((110 * MS, 2), (210 * MS, 3), (310 * MS, 4))
