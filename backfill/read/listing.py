"""The data files of a snapshot, by its manifests, a million of them within a minute.

Iceberg's own planning keeps every file with all its statistics. Here only what a plan needs is
kept of a file; manifests are fetched a few ahead, and read one by one.
"""

from __future__ import annotations

from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from pyiceberg.expressions.visitors import inclusive_projection, manifest_evaluator
from pyiceberg.manifest import ManifestContent

from headrace.errors import Terminal
from headrace.iceberg.manifest_scan import live_entries
from headrace.iceberg.scans import time_bound

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from pyiceberg.expressions import BooleanExpression
    from pyiceberg.io import FileIO
    from pyiceberg.manifest import ManifestFile
    from pyiceberg.table import FileScanTask, Table

    from backfill.plan.units import Span
    from headrace.iceberg.manifest_scan import LiveFile

# So many are on their way at once: a store far away takes its time for each.
FETCHED_AHEAD = 8


RawBounds: TypeAlias = "tuple[bytes | None, bytes | None]"


class DataFile(NamedTuple):
    """A data file; its bounds are None where its writer kept none.

    `nulls` counts its rows without a time, None where its writer did not. `others` are the bounds of
    the columns that conditions are on, and of those that watermarks go by.
    """

    path: str
    rows: int
    size_bytes: int
    min_ts_us: int | None
    max_ts_us: int | None
    nulls: int | None
    others: tuple[RawBounds, ...] = ()

    @property
    def has_times(self) -> bool:
        """Whether the manifest says all of the file's times that a plan needs."""
        if self.nulls is None:
            return False
        return self.nulls == self.rows or None not in {self.min_ts_us, self.max_ts_us}


def has_deletes(manifests: Iterable[ManifestFile]) -> bool:
    """Whether any rows of these data files are deleted by other files."""
    return any(manifest.content == ManifestContent.DELETES for manifest in manifests)


def list_files(
    table: Table,
    manifests: Iterable[ManifestFile],
    row_filter: BooleanExpression,
    field_id: int,
    others: Sequence[int] = (),
) -> Iterator[DataFile]:
    """Yield the live data files of the manifests that may hold rows that the filter wants.

    Their times are the column's of that id; the bounds of others come as they are kept.
    """
    wanted = _by_spec(table, row_filter)
    kept = [one.manifest_path for one in manifests if wanted(one)]
    for content in _fetched(table.io, kept):
        for entry in live_entries(content, field_id, *others):
            yield _listed(entry)


def _by_spec(table: Table, row_filter: BooleanExpression) -> Callable[[ManifestFile], bool]:
    schema, specs = table.schema(), table.specs()
    known: dict[int, Callable[[ManifestFile], bool]] = {}

    def wanted(manifest: ManifestFile) -> bool:
        number = manifest.partition_spec_id
        if number not in known:
            spec = specs[number]
            projected = inclusive_projection(schema, spec)(row_filter)
            known[number] = manifest_evaluator(spec, schema, projected)
        return known[number](manifest)

    return wanted


def _fetched(io: FileIO, paths: Sequence[str]) -> Iterator[bytes]:
    """Yield the contents of files in their order, having asked for the next ones already."""
    with ThreadPoolExecutor(FETCHED_AHEAD) as pool:
        coming: deque[Future[bytes]] = deque()
        for path in paths:
            coming.append(pool.submit(_content, io, path))
            if len(coming) > FETCHED_AHEAD:
                yield coming.popleft().result()
        while coming:
            yield coming.popleft().result()


def _content(io: FileIO, path: str) -> bytes:
    with io.new_input(path).open() as stream:
        return bytes(stream.read())


def _listed(entry: LiveFile) -> DataFile:
    if entry.file_format.upper() != "PARQUET":
        raise Terminal(
            f"data file {entry.path} is {entry.file_format}, but headrace replays only Parquet",
            "rewrite the table's files (in Spark: CALL system.rewrite_data_files)",
        )
    (lower, upper), *others = entry.bounds
    times = time_bound(lower), time_bound(upper)
    return DataFile(entry.path, entry.rows, entry.size_bytes, *times, entry.nulls, tuple(others))


def time_span(pair: RawBounds) -> Span | None:
    """Return the bounds of a column of times, None where there are none."""
    low_us, high_us = time_bound(pair[0]), time_bound(pair[1])
    return None if low_us is None or high_us is None else (low_us, high_us)


def data_file(task: FileScanTask, field_id: int, others: Sequence[int]) -> DataFile:
    """Return a file of Iceberg's own plan."""
    file = task.file
    lower, upper = file.lower_bounds or {}, file.upper_bounds or {}
    return DataFile(
        file.file_path,
        file.record_count,
        file.file_size_in_bytes,
        time_bound(lower.get(field_id)),
        time_bound(upper.get(field_id)),
        (file.null_value_counts or {}).get(field_id),
        tuple((lower.get(one), upper.get(one)) for one in others),
    )
