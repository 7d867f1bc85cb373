"""The data files of a snapshot, by its manifests, a million of them within a minute.

Iceberg's own planning keeps every file with all its statistics. Here only what a plan needs is
kept of a file; manifests are fetched a few ahead, and read one by one.
"""

from __future__ import annotations

from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cache
from typing import TYPE_CHECKING, TypeAlias

from pyiceberg.expressions.visitors import inclusive_projection, manifest_evaluator
from pyiceberg.manifest import ManifestContent

from headrace.errors import Terminal
from headrace.iceberg.manifest_scan import LiveFile, live_entries
from headrace.iceberg.scans import time_bound

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from pyiceberg.expressions import BooleanExpression
    from pyiceberg.io import FileIO
    from pyiceberg.manifest import ManifestFile
    from pyiceberg.table import FileScanTask, Table

    from backfill.plan.units import Span

# So many are on their way at once: a store far away takes its time for each.
FETCHED_AHEAD = 8


RawBounds: TypeAlias = "tuple[bytes | None, bytes | None]"


def has_deletes(manifests: Iterable[ManifestFile]) -> bool:
    """Whether any rows of these data files are deleted by other files."""
    return any(manifest.content == ManifestContent.DELETES for manifest in manifests)


def list_files(
    table: Table,
    manifests: Iterable[ManifestFile],
    row_filter: BooleanExpression,
    field_ids: Sequence[int],
) -> Iterator[LiveFile]:
    """Yield the live data files of the manifests that may hold rows that the filter wants.

    With the bounds of those columns as they are kept, and the nulls of the first.
    """
    schema, specs = table.schema(), table.specs()

    @cache
    def evaluator(spec_id: int) -> Callable[[ManifestFile], bool]:
        spec = specs[spec_id]
        return manifest_evaluator(spec, schema, inclusive_projection(schema, spec)(row_filter))

    wanted = [one.manifest_path for one in manifests if evaluator(one.partition_spec_id)(one)]
    for content in _fetched(table.io, wanted):
        for file in live_entries(content, *field_ids):
            if file.file_format.upper() != "PARQUET":
                raise Terminal(
                    f"data file {file.path} is {file.file_format}, but headrace replays only Parquet",
                    "rewrite the table's files (in Spark: CALL system.rewrite_data_files)",
                )
            yield file


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


def planned_file(task: FileScanTask, field_ids: Sequence[int]) -> LiveFile:
    """Return a file of Iceberg's own plan likewise."""
    file = task.file
    lower, upper = file.lower_bounds or {}, file.upper_bounds or {}
    return LiveFile(
        file.file_path,
        file.file_format,
        file.record_count,
        file.file_size_in_bytes,
        (file.null_value_counts or {}).get(field_ids[0]),
        tuple((lower.get(one), upper.get(one)) for one in field_ids),
    )


def time_span(bounds: RawBounds) -> Span | None:
    """Return the bounds of a column of times, None where there are none."""
    low_us, high_us = time_bound(bounds[0]), time_bound(bounds[1])
    return None if low_us is None or high_us is None else (low_us, high_us)
