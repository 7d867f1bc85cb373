"""A table that is followed, by its metadata: snapshots, what was added between two, what is left."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Final

from backfill.plan.period import Period, parse_period
from backfill.plan.preconditions import NullTimes, RowsWithoutTime, UpTo
from backfill.read.enumerator import FileEnumerator
from backfill.read.file_columns import may_be_null
from backfill.read.listing import has_deletes
from backfill.read.source import LakeSource
from headrace.errors import Terminal
from headrace.iceberg.catalog import load_table
from headrace.iceberg.history import main_line
from headrace.iceberg.manifest_scan import live_entries
from headrace.landing.completeness import complete_up_to
from stream_app.follow.follower import TableStatus
from stream_app.follow.position import Commit, CommitRules, OnOverwrite

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyiceberg.manifest import ManifestFile
    from pyiceberg.table import Table
    from pyiceberg.table.snapshots import Snapshot

    from backfill.plan.units import Unit
    from backfill.read.enumerator import FileList
    from headrace.config.workspace.workspace import Workspace
    from stream_app.follow.position import FollowedSnapshot, Hop

ALWAYS: Final = parse_period("0001-01-01", "9999-12-31")
FILES_AT_ONCE: Final = 4
HOPS_KEPT: Final = 16


@dataclass(frozen=True, slots=True)
class FollowedTableSettings:
    """A table, and how it is followed."""

    name: str
    time_column: str
    threshold_us: int
    up_to: UpTo
    on_overwrite: OnOverwrite
    null_times: NullTimes = "fail"


def seen_table(
    workspace: Workspace, followed: FollowedTableSettings, columns: Sequence[str]
) -> LakeSource:
    """Return a table with those columns, all of them for none, as an application sees it."""
    by = followed.time_column
    return LakeSource(
        workspace, followed.name, ALWAYS, columns=columns, time_column=by, as_stored=False
    )


class FollowedTable:
    """The table of a catalog, as a follower asks about it. What was found of a file is kept."""

    def __init__(self, workspace: Workspace, followed: FollowedTableSettings) -> None:
        self._workspace = workspace
        self._followed = followed
        self._table: Table | None = None
        self._cut: dict[str, Sequence[Unit]] = {}
        self._left: tuple[int, int, Sequence[Unit]] | None = None
        self._added: dict[tuple[Hop, int, int], Sequence[Unit]] = {}

    @property
    def table(self) -> Table:
        """The table as it was at the last look."""
        if self._table is None:
            self._table = load_table(self._workspace, self._followed.name)
        return self._table

    def look(self) -> TableStatus:
        """Return how the table is now."""
        self.table.refresh()
        snapshot = self.table.metadata.current_snapshot_id
        said = complete_up_to(self.table.properties) if self._followed.up_to == "complete" else None
        return TableStatus(snapshot, None if said is None else said.time_us, said is not None)

    def hops(self, seen: FollowedSnapshot, until_us: int) -> tuple[Hop, ...]:
        """Return the way to the newest snapshot from another, dispatched up to a time."""
        rules = CommitRules(
            self._followed.name,
            self._followed.on_overwrite,
            lambda one, other: bool(self._lost(one, other)),
            partial(self._is_behind, until_us=until_us),
        )
        return rules.hops(seen.snapshot, self._line_after(seen.snapshot))

    def units(self, snapshot: int | None, from_us: int) -> Sequence[Unit]:
        """Return what a snapshot has that may have rows from a time on, cut as a replay cuts."""
        if snapshot is None:
            return []
        if self._left is None or self._left[0] != snapshot or self._left[1] > from_us:
            enumerator = self._files(snapshot, Period(from_us, ALWAYS.end_us_exclusive))
            files = enumerator.files_in(self._manifests(snapshot)).units
            present = {file.path for file in files}
            self._cut = {path: units for path, units in self._cut.items() if path in present}
            self._left = snapshot, from_us, self._narrow(enumerator, files, self._cut)
        elif self._left[1] < from_us:
            left = [unit for unit in self._left[2] if unit.max_ts_us >= from_us]
            self._left = snapshot, from_us, left
        return self._left[2]

    def added(self, hop: Hop, since_us: int, before_us: int) -> Sequence[Unit]:
        """Return what a hop has added that may have rows between two times, cut likewise."""
        if since_us >= before_us:
            return []
        key = hop, since_us, before_us
        if key not in self._added:
            enumerator, found = self._files_added(hop, since_us, before_us)
            kept = list(self._added.items())[-HOPS_KEPT:]
            self._added = {**dict(kept), key: self._narrow(enumerator, found.units, {})}
        return self._added[key]

    def rows_added(self, hop: Hop, since_us: int, before_us: int) -> int:
        """Count the rows that a hop has added between two times; reads where bounds do not tell."""
        if since_us >= before_us:
            return 0
        enumerator, found = self._files_added(hop, since_us, before_us)
        return sum(
            sum(batch.num_rows for batch in enumerator.source.rows(file))
            if file.partly
            else file.rows
            for file in found.units
        )

    def null_times(self, hop: Hop, since_us: int) -> int:
        """Count the rows without a time that a hop has added; raise where they are not to be left out."""
        if not may_be_null(self.table.schema(), self._followed.time_column):
            return 0
        _, found = self._files_added(hop, since_us, ALWAYS.end_us_exclusive)
        rows = sum(one.rows for one in found.without_time)
        if rows and self._followed.null_times == "fail":
            name, column = self._followed.name, self._followed.time_column
            raise RowsWithoutTime(name, column, found.without_time, rows)
        return rows

    def _files_added(
        self, hop: Hop, since_us: int, before_us: int
    ) -> tuple[FileEnumerator, FileList]:
        enumerator = self._files(hop.after, Period(since_us, before_us))
        fresh, gone = self._changed(hop.before, hop.after)
        # A commit may bring manifests together: what they list was there before.
        held = self._paths(gone)
        found = enumerator.files_in(fresh)
        return enumerator, found._replace(
            units=[file for file in found.units if file.path not in held],
            without_time=[file for file in found.without_time if file.path not in held],
        )

    def _files(self, snapshot: int, period: Period) -> FileEnumerator:
        self._snapshot(snapshot)
        followed = self._followed
        source = LakeSource(
            self._workspace,
            followed.name,
            period,
            snapshot_id=snapshot,
            columns=(followed.time_column.partition(".")[0],),
            time_column=followed.time_column,
        )
        return FileEnumerator(source, scan=True)

    def _narrow(
        self, enumerator: FileEnumerator, files: Sequence[Unit], known: dict[str, Sequence[Unit]]
    ) -> list[Unit]:
        """Cut the files that span more time than the threshold, unless that was done before."""
        threshold_us = self._followed.threshold_us
        wide = [file for file in files if file.width_us > threshold_us and file.path not in known]
        with ThreadPoolExecutor(FILES_AT_ONCE) as pool:
            cut = pool.map(partial(enumerator.cut, threshold_us=threshold_us), wide)
            known |= {file.path: units for file, (units, _) in zip(wide, cut, strict=True)}
        narrow = (known.get(file.path, (file,)) for file in files)
        return [unit for units in narrow for unit in units]

    def _line_after(self, seen: int | None) -> list[Commit]:
        """Return the commits after a snapshot, the oldest first, as far back as they are known."""
        since = None if seen is None else self._snapshot(seen)
        known = {snapshot.snapshot_id for snapshot in self.table.metadata.snapshots}
        line: list[Commit] = []
        for snapshot in main_line(self.table):
            if snapshot.snapshot_id == seen:
                return line[::-1]
            if since is not None and _age(snapshot) <= _age(since):
                raise Terminal(
                    f"{self._followed.name} was rolled back: the application has read up to "
                    f"snapshot {seen}, which is no longer in the table's history",
                    "roll it forward again, or start over under another name",
                )
            parent = snapshot.parent_snapshot_id
            operation = "append" if snapshot.summary is None else snapshot.summary.operation.value
            line.append(
                Commit(snapshot.snapshot_id, parent if parent in known else None, operation)
            )
        return line[::-1]

    def _is_behind(self, commit: Commit, until_us: int) -> bool:
        """Whether a commit has done no more than remove files that were all dispatched before."""
        if commit.parent is None or self._lost(commit.snapshot, commit.parent):
            return False
        fresh, gone = self._changed(commit.parent, commit.snapshot)
        held = self._paths(fresh)
        files = self._files(commit.parent, ALWAYS).files_in(gone).units
        return all(file.max_ts_us < until_us for file in files if file.path not in held)

    def _lost(self, one: int | None, other: int) -> set[str]:
        """Return the files of a snapshot that another does not have."""
        fresh, gone = self._changed(one, other)
        return self._paths(gone) - self._paths(fresh) if gone else set()

    def _changed(
        self, one: int | None, other: int
    ) -> tuple[list[ManifestFile], list[ManifestFile]]:
        """Return the manifests that only the other has, and those that only the one has."""
        before = {} if one is None else {m.manifest_path: m for m in self._manifests(one)}
        after = {m.manifest_path: m for m in self._manifests(other)}
        fresh = [manifest for path, manifest in after.items() if path not in before]
        return fresh, [manifest for path, manifest in before.items() if path not in after]

    def _paths(self, manifests: Sequence[ManifestFile]) -> set[str]:
        found = set()
        for manifest in manifests:
            with self.table.io.new_input(manifest.manifest_path).open() as stream:
                found |= {entry.path for entry in live_entries(stream.read(), 0)}
        return found

    def _manifests(self, snapshot: int) -> list[ManifestFile]:
        manifests = self._snapshot(snapshot).manifests(self.table.io)
        if has_deletes(manifests):
            raise Terminal(
                f"snapshot {snapshot} of {self._followed.name} has delete files (merge-on-read), "
                "and a stream cannot take rows back",
                "compact the table (in Spark: CALL system.rewrite_data_files with "
                "delete-file-threshold 1), and set its writers to copy-on-write",
            )
        return manifests

    def _snapshot(self, snapshot: int) -> Snapshot:
        found = self.table.snapshot_by_id(snapshot)
        if found is None:
            self.table.refresh()
            found = self.table.snapshot_by_id(snapshot)
        if found is None:
            raise Terminal(
                f"the application has read {self._followed.name} up to snapshot {snapshot}, which "
                "is gone",
                "it expired although it had a tag, or the tag could not be set: start over under "
                "another name, with follow: {start: …} set to the time that was reached",
            )
        return found


def _age(snapshot: Snapshot) -> tuple[int, int]:
    # Tables of format version 1 have no sequence numbers.
    return snapshot.sequence_number or 0, snapshot.timestamp_ms
