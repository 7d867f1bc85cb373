"""The commit protocol: files land exactly once, whoever else works on the table.

A commit is made for one parent, on which the writer has seen that the table's mark is the one it
goes on from. The catalog refuses it on any other parent (`headrace/iceberg/append.py`); then the
writer looks again. How the files came about is none of its business.
"""

from __future__ import annotations

import contextlib
import time
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

import structlog

from headrace.errors import HeadraceError, Terminal, Transient
from headrace.iceberg.append import (
    Append,
    HeadMoved,
    NoAnswer,
    append,
    remove_quietly,
    set_properties,
)
from headrace.iceberg.history import kept_history, main_line, remove_let_go, to_let_go
from headrace.landing.completeness import Completeness, completeness_property
from headrace.landing.losses import losses_property, with_losses
from headrace.landing.marks import (
    NO_SNAPSHOT,
    SUMMARY,
    Identity,
    Mark,
    Told,
    following,
    mark_property,
    standing,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from pyiceberg.manifest import DataFile
    from pyiceberg.table import Table

# A compaction or another writer's commit in between costs one attempt; a catalog that is away for
# a moment, a few.
WAITS_S: Final = (0.0, 0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 6.4)
log = structlog.get_logger(__name__)


class LostRace(Terminal):
    """Another process has landed for this writer since this one looked."""

    def __init__(self, table: str, own: Identity, winner: Identity | None, fate: str) -> None:
        self.winner = winner
        who = "somebody removed this writer's mark" if winner is None else f"{winner} has committed"
        super().__init__(
            f"{own} stops: {who} to {table} in between; {fate}",
            "let one process land this topic; start this one again if it is to be the one",
        )


class TopicMadeAnew(Terminal):
    """A topic of the same name that is not the one whose records the table holds."""

    def __init__(self, topic: str, table: str) -> None:
        super().__init__(
            f"topic {topic} was deleted and made anew: the offsets that {table} holds are of the"
            " one before, and not the same records",
            "to land the new topic as well, give its writer a new name",
        )


@dataclass(frozen=True, slots=True)
class Batch:
    """Files that are written and in no table, and up to where they take each partition.

    `lost` are offsets on the way that the topic no longer has, `epochs` those of leaders whose logs
    had all up to the ends.
    """

    files: Sequence[DataFile]
    starts: Mapping[int, int]
    ends: Mapping[int, int]
    lost: Mapping[int, range] = field(default_factory=dict)
    epochs: Mapping[int, int] = field(default_factory=dict)


@dataclass(slots=True)
class _Tried:
    """What the attempts at one commit have come to."""

    mark: Mark | None = None
    refused: Sequence[str] = ()
    unanswered: NoAnswer | None = None


class TableCommits:
    """A writer's commits to one table."""

    def __init__(self, load: Callable[[], Table], table: str, identity: Identity) -> None:
        self._load = load
        self._table = table
        self._identity = identity
        self._mark: Mark | None = None
        self.completeness = Completeness()

    def resume(self, topic_id: str = "") -> Mark | None:
        """Read from the table where the writer goes on; None where it has landed nothing.

        TopicMadeAnew where what it has landed is of a topic of another id.
        """
        self._identity = replace(self._identity, topic_id=topic_id)
        table = self._load_table()
        self._mark = self._standing(table)
        if self._mark is not None and self._mark.identity.topic != self._identity.topic:
            raise Terminal(
                f"{self._identity.writer} has landed topic {self._mark.identity.topic} in {self._table},"
                f" and now its file says {self._identity.topic}",
                "its offsets mean nothing there: give the writer of the other topic a new name",
            )
        landed = "" if self._mark is None else self._mark.identity.topic_id
        if topic_id and landed and topic_id != landed:
            raise TopicMadeAnew(self._identity.topic, self._table)
        said = table.properties.get(completeness_property(self._identity.writer))
        self.completeness = Completeness.from_json(said)
        return self._mark

    def begin(self, starts: Mapping[int, int], epochs: Mapping[int, int] | None = None) -> None:
        """Keep where the writer begins, where the table has no mark of it yet.

        So its second start goes on from there, when `latest` is another place; and a topic of
        which nothing has come is known to be complete.
        """
        if self._mark is not None:
            return
        mark = following(None, self._identity, NO_SNAPSHOT, starts, starts, epochs)
        table = self._load_table()
        if self._standing(table) is not None:
            raise self._not_begun("another process has begun in between")
        try:
            set_properties(table, {mark_property(self._identity.writer): mark.to_json()})
        except (HeadMoved, NoAnswer) as problem:
            raise self._not_begun(str(problem)) from problem
        self._mark = mark

    def _not_begun(self, why: str) -> Transient:
        return Transient(
            f"the place where {self._identity.writer} begins could not be kept in {self._table}:"
            f" {why}",
            "start it again when the catalog answers",
        )

    def commit(self, batch: Batch) -> Mark:
        """Land a batch, or raise.

        After `Transient` it may be in the table all the same, if a catalog that did not answer
        takes it later. `resume` then finds it, and a commit that was made without knowing of it
        is refused.
        """
        tried = _Tried()
        for wait_s in WAITS_S:
            time.sleep(wait_s)
            try:
                mark = self._try(batch, tried)
            except NoAnswer as problem:
                tried.unanswered = problem
                log.warning("the catalog gave no answer", table=self._table, problem=str(problem))
                continue
            if mark is not None:
                return mark
        why = "others were always first" if tried.unanswered is None else str(tried.unanswered)
        raise Transient(
            f"the catalog did not take a commit to {self._table} in {len(WAITS_S)} attempts ({why})",
            "start it again when the catalog answers: it goes on from what the table then holds",
        )

    def confirm(self) -> None:
        """Say up to when the table is complete, where there was nothing to land."""
        complete = self.completeness if self._mark is None else self._complete_at(self._mark)
        if self._mark is None or complete.time_us == self.completeness.time_us:
            return
        said = complete.to_json(self._mark.next_offsets)
        # Only news: whatever is in its way, the next commit tells it as well.
        with contextlib.suppress(HeadMoved, NoAnswer):
            table = self._load_table()
            if self._standing(table) == self._mark:
                set_properties(table, {completeness_property(self._identity.writer): said})
                self.completeness = complete

    def _complete_at(self, mark: Mark) -> Completeness:
        return self.completeness.landed(mark.next_offsets)

    def _try(self, batch: Batch, tried: _Tried) -> Mark | None:
        """Land a batch on the table as it is now; None where it moved on in between."""
        table = self._load_table()
        if tried.mark is None:
            snapshot = table.metadata.new_snapshot_id()
            tried.mark = following(
                self._mark, self._identity, snapshot, batch.starts, batch.ends, batch.epochs
            )
        mark, held = tried.mark, self._standing(table)
        complete = self._complete_at(mark)
        if held != mark:
            if held != self._mark:
                raise self._lost(table, batch, tried, held)
            remove_quietly(table, tried.refused)
            tried.refused = ()
            if not self._add(table, batch, mark, complete, tried):
                return None
        self._mark, self.completeness = mark, complete
        return mark

    def _lost(self, table: Table, batch: Batch, tried: _Tried, held: Mark | None) -> LostRace:
        winner = None if held is None else held.identity
        mark = tried.mark
        landed = mark is not None and table.snapshot_by_id(mark.snapshot) is not None
        if landed:
            fate = "the batch at hand had landed before"
        elif tried.unanswered is not None:
            fate = "the batch at hand has not landed"
        else:
            fate = "nothing of the batch at hand is in the table"
            # Certainly nobody's: what a silent catalog may still take is left to `maintain`.
            files = [file.file_path for file in batch.files]
            remove_quietly(table, [*files, *tried.refused])
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
        self, table: Table, batch: Batch, mark: Mark, complete: Completeness, tried: _Tried
    ) -> bool:
        said, writer = mark.to_json(), self._identity.writer
        keep = kept_history(table.properties, len(said))
        gone = to_let_go(table, SUMMARY, keep, time.time_ns() // 1_000_000)
        properties = {
            mark_property(writer): said,
            completeness_property(writer): complete.to_json(mark.next_offsets),
        }
        if batch.lost:
            name = losses_property(writer)
            properties[name] = with_losses(table.properties.get(name), batch.lost)
        commit = Append(mark.snapshot, batch.files, {SUMMARY: said}, properties, gone)
        try:
            after = append(table, commit)
        except HeadMoved as moved:
            tried.refused = moved.written
            log.info("the table has moved on, looking again", table=self._table, why=str(moved))
            return False
        remove_let_go(table, after, gone)
        return True

    def _standing(self, table: Table) -> Mark | None:
        writer = self._identity.writer
        return standing(
            writer,
            table.properties.get(mark_property(writer)),
            (
                Told(
                    one.snapshot_id,
                    None if one.summary is None else one.summary.additional_properties.get(SUMMARY),
                )
                for one in main_line(table)
            ),
            (one.snapshot_id for one in table.metadata.snapshots),
        )
