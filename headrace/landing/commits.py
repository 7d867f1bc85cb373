"""The commit protocol: files land exactly once, whoever else works on the table.

A commit is made for one parent, on which the writer has seen that the table's commit state is the
one it goes on from. The catalog refuses it on any other parent (`headrace/iceberg/append.py`); then the
writer looks again. How the files came about is none of its business.
"""

from __future__ import annotations

import contextlib
import time
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

from headrace.errors import HeadraceError, Terminal, Transient
from headrace.iceberg.append import (
    Append,
    HeadMoved,
    NoAnswer,
    append,
    change_property,
    remove_quietly,
)
from headrace.iceberg.history import kept_history, main_line, remove_let_go, to_let_go
from headrace.kafka.source_topic import Reader, TopicRecreated
from headrace.landing.commit_state import (
    BATCH_MS,
    NO_SNAPSHOT,
    SUMMARY,
    CommitState,
    Identity,
    SnapshotState,
    current_state,
    next_state,
    state_property,
)
from headrace.landing.completeness import (
    Completeness,
    completeness_property,
    losses_property,
    with_losses,
)
from headrace.landing.totals import TableTotals, totals_of
from headrace.retries import retry

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from pyiceberg.manifest import DataFile
    from pyiceberg.table import Table

# A compaction or another writer's commit in between costs one attempt; a catalog that is away for
# a moment, a few.
ATTEMPTS: Final = 8
FIRST_WAIT_S: Final = 0.1


def reader_of(writer: str) -> Reader:
    """Return the lake writer of that name as a reader of its topic."""
    return Reader(
        f"lake writer {writer}",
        "to land the topic as it is now, give its writer a new name",
        "to continue after the gap, and keep it in the table for the audit: source.on_data_loss: "
        "skip",
    )


class LostRace(Terminal):
    """Another process has committed for this writer since this process last read the table."""

    def __init__(self, table: str, own: Identity, winner: Identity | None, fate: str) -> None:
        self.winner = winner
        who = (
            "somebody removed this writer's commit state"
            if winner is None
            else f"{winner} committed"
        )
        super().__init__(
            f"{own} stops: {who} (table {table}); {fate}",
            "only one process may land this topic; start this one again if it should do so",
        )


@dataclass(frozen=True, slots=True)
class TableBatch:
    """Files that are written and in no table, and up to where they take each partition.

    `lost` are offsets on the way that the topic no longer has, `epochs` those of leaders whose logs
    had all up to the ends. `took_ms` is how long it took so far, where its writer says so.
    """

    files: Sequence[DataFile]
    starts: Mapping[int, int]
    ends: Mapping[int, int]
    lost: Mapping[int, range] = field(default_factory=dict)
    epochs: Mapping[int, int] = field(default_factory=dict)
    took_ms: int | None = None


@dataclass(slots=True)
class _Tried:
    """The results of the attempts at one commit."""

    state: CommitState | None = None
    refused: Sequence[str] = ()
    unanswered: NoAnswer | None = None


class TableCommits:
    """A writer's commits to one table."""

    def __init__(self, load: Callable[[], Table], table: str, identity: Identity) -> None:
        self._load = load
        self._table = table
        self._identity = identity
        self._state: CommitState | None = None
        self.completeness = Completeness()
        self.totals = TableTotals()

    def resume(self, topic_id: str = "") -> CommitState | None:
        """Read the writer's commit state from the table; None if it has landed nothing.

        TopicRecreated where what it has landed is of a topic of another id.
        """
        self._identity = replace(self._identity, topic_id=topic_id)
        table = self._load_table()
        self._state = state_in(table, self._identity.writer)
        if self._state is not None and self._state.identity.topic != self._identity.topic:
            raise Terminal(
                f"{self._identity.writer} has landed topic {self._state.identity.topic} in "
                f"{self._table}, but its file now names topic {self._identity.topic}",
                "the offsets of the old topic have no meaning in the new one: give the writer of "
                "the new topic a new name",
            )
        landed = "" if self._state is None else self._state.identity.topic_id
        if topic_id and landed and topic_id != landed:
            raise TopicRecreated(reader_of(self._identity.writer), self._identity.topic)
        said = table.properties.get(completeness_property(self._identity.writer))
        self.completeness = Completeness.from_json(said)
        self.totals = totals_of(table, self._identity.writer)
        return self._state

    def begin(self, starts: Mapping[int, int], epochs: Mapping[int, int] | None = None) -> None:
        """Keep where the writer begins, where the table has no commit state of it yet.

        So its second start goes on from there, when `latest` is another offset; and a topic of
        which nothing has come is known to be complete.
        """
        if self._state is not None:
            return
        state = next_state(None, self._identity, NO_SNAPSHOT, starts, starts, epochs)
        table = self._load_table()
        if state_in(table, self._identity.writer) is not None:
            raise self._not_begun("another process has started meanwhile")
        try:
            change_property(table, state_property(self._identity.writer), state.to_json())
        except (HeadMoved, NoAnswer) as problem:
            raise self._not_begun(str(problem)) from problem
        self._state = state

    def _not_begun(self, why: str) -> Transient:
        return Transient(
            f"the start offsets of {self._identity.writer} could not be stored in {self._table}: "
            f"{why}",
            "start it again when the catalog answers",
        )

    def commit(self, batch: TableBatch) -> CommitState:
        """Land a batch, or raise.

        After `Transient` it may be in the table all the same, if a catalog that did not answer
        takes it later. `resume` then finds it, and a commit that was made without knowing of it
        is refused.
        """
        tried = _Tried()
        try:
            return retry(
                lambda: self._try(batch, tried), (HeadMoved, NoAnswer), ATTEMPTS, FIRST_WAIT_S
            )
        except (HeadMoved, NoAnswer) as problem:
            why = (
                "other jobs committed first each time"
                if tried.unanswered is None
                else str(tried.unanswered)
            )
            raise Transient(
                f"the catalog did not accept a commit to {self._table} in {ATTEMPTS} attempts "
                f"({why})",
                "start it again when the catalog answers: it continues from the offsets that the "
                "table then has",
            ) from problem

    def confirm(self) -> None:
        """Say up to when the table is complete, where there was nothing to land."""
        if self._state is None:
            return
        complete = self.completeness.landed(self._state.next_offsets)
        if complete.time_us == self.completeness.time_us:
            return
        said = complete.to_json(self._state.next_offsets)
        # Only news: whatever is in its way, the next commit tells it as well.
        with contextlib.suppress(HeadMoved, NoAnswer):
            table = self._load_table()
            if state_in(table, self._identity.writer) == self._state:
                change_property(table, completeness_property(self._identity.writer), said)
                self.completeness = complete

    def _try(self, batch: TableBatch, tried: _Tried) -> CommitState:
        """Land a batch on the table as it is now; HeadMoved where it moved on in between."""
        try:
            return self._try_on(self._load_table(), batch, tried)
        except HeadMoved as moved:
            tried.refused = moved.written
            raise
        except NoAnswer as problem:
            tried.unanswered = problem
            raise

    def _try_on(self, table: Table, batch: TableBatch, tried: _Tried) -> CommitState:
        if tried.state is None:
            snapshot = table.metadata.new_snapshot_id()
            tried.state = next_state(
                self._state, self._identity, snapshot, batch.starts, batch.ends, batch.epochs
            )
        state, held = tried.state, state_in(table, self._identity.writer)
        complete = self.completeness.landed(state.next_offsets)
        if held != state:
            if held != self._state:
                raise self._lost(table, batch, tried, held)
            remove_quietly(table.io, tried.refused)
            tried.refused = ()
            self._add(table, batch, state, complete)
        self._state, self.completeness = state, complete
        return state

    def _lost(
        self, table: Table, batch: TableBatch, tried: _Tried, held: CommitState | None
    ) -> LostRace:
        winner = None if held is None else held.identity
        state = tried.state
        landed = state is not None and table.snapshot_by_id(state.snapshot) is not None
        if landed:
            fate = "its current batch had already landed"
        elif tried.unanswered is not None:
            fate = "its current batch has not landed"
        else:
            fate = "nothing of its current batch is in the table"
            # Certainly nobody's: what a silent catalog may still take is left to `maintain`.
            files = [file.file_path for file in batch.files]
            remove_quietly(table.io, [*files, *tried.refused])
        return LostRace(self._table, self._identity, winner, fate)

    def _load_table(self) -> Table:
        try:
            return self._load()
        except HeadraceError:
            raise
        except Exception as problem:
            # What a catalog's client raises differs from kind to kind.
            raise NoAnswer(f"{type(problem).__name__}: {problem}") from problem

    def _add(
        self, table: Table, batch: TableBatch, state: CommitState, complete: Completeness
    ) -> None:
        said, writer = state.to_json(), self._identity.writer
        keep = kept_history(table.properties, len(said))
        gone = to_let_go(table, SUMMARY, keep, time.time_ns() // 1_000_000)
        properties = {
            state_property(writer): said,
            completeness_property(writer): complete.to_json(state.next_offsets),
        }
        if batch.lost:
            name = losses_property(writer)
            properties[name] = with_losses(table.properties.get(name), batch.lost)
        summary = {SUMMARY: said}
        if batch.took_ms is not None:
            summary[BATCH_MS] = str(batch.took_ms)
        commit = Append(state.snapshot, batch.files, summary, properties, gone)
        after = append(table, commit)
        self.totals = totals_of(after, writer)
        remove_let_go(table, after, gone)


def state_in(table: Table, writer: str) -> CommitState | None:
    """Return the commit state of a writer that fits the table as it is, however it came to be so."""
    known = (one.snapshot_id for one in table.metadata.snapshots)
    said = table.properties.get(state_property(writer))
    return current_state(writer, said, snapshot_states(table), known)


def snapshot_states(table: Table) -> Iterator[SnapshotState]:
    """Yield the snapshots of the table's main line, the head first."""
    for one in main_line(table):
        number, parent, said = one.snapshot_id, one.parent_snapshot_id, one.summary
        if said is None:
            yield SnapshotState(number, None, parent)
        else:
            made_by = f"a commit of another job ({said.operation.value})"
            state = said.additional_properties.get(SUMMARY)
            yield SnapshotState(number, state, parent, made_by)
