"""The data files of a snapshot, by its manifests, a million of them within a minute.

Iceberg's own planning keeps every file with all its statistics. Here only what a plan needs is
kept of a file, manifests are read one by one, and by all cores where there are many files.
"""

from __future__ import annotations

from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import IO, TYPE_CHECKING, Any, NamedTuple, cast

import fastavro
from pyiceberg.expressions.visitors import inclusive_projection, manifest_evaluator
from pyiceberg.manifest import ManifestContent

from headrace.errors import Terminal
from headrace.spark import cores

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from pyiceberg.expressions import BooleanExpression
    from pyiceberg.io import FileIO
    from pyiceberg.manifest import ManifestFile
    from pyiceberg.table import Table

DELETED = 2
# From here on the start of more processes is soon made good for.
MANY_FILES = 100_000


class Listed(NamedTuple):
    """A data file; its bounds are None where its writer kept none."""

    path: str
    rows: int
    size_bytes: int
    min_ts_us: int | None
    max_ts_us: int | None


def has_deletes(manifests: Iterable[ManifestFile]) -> bool:
    """Whether any rows of these data files are deleted by other files."""
    return any(manifest.content == ManifestContent.DELETES for manifest in manifests)


def listed(
    table: Table, manifests: Iterable[ManifestFile], row_filter: BooleanExpression, field_id: int
) -> Iterator[Listed]:
    """Yield the live data files of the manifests that may hold rows that the filter wants."""
    wanted = _by_spec(table, row_filter)
    kept = [one for one in manifests if wanted(one)]
    jobs = [(table.io, one.manifest_path, field_id) for one in kept]
    if sum((one.added_files_count or 0) + (one.existing_files_count or 0) for one in kept) < (
        MANY_FILES
    ):
        for job in jobs:
            yield from _files_of(job)
        return
    with ProcessPoolExecutor(cores(), get_context("spawn")) as pool:
        for found in pool.map(_files_of, jobs):
            yield from found


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


def _files_of(job: tuple[FileIO, str, int]) -> list[Listed]:
    io, path, field_id = job
    with io.new_input(path).open() as stream:
        # It needs no more of a file than `read`, which the types do not say.
        entries: Iterable[Any] = fastavro.reader(cast("IO[bytes]", stream))
        return [
            _listed(entry["data_file"], field_id) for entry in entries if entry["status"] != DELETED
        ]


def _listed(file: dict[str, Any], field_id: int) -> Listed:
    if file["file_format"].upper() != "PARQUET":
        raise Terminal(
            f"data file {file['file_path']} is {file['file_format']}, and only Parquet is replayed",
            "rewrite the table's files (in Spark: CALL system.rewrite_data_files)",
        )
    return Listed(
        file["file_path"],
        file["record_count"],
        file["file_size_in_bytes"],
        _bound(file["lower_bounds"], field_id),
        _bound(file["upper_bounds"], field_id),
    )


def _bound(bounds: list[dict[str, Any]] | None, field_id: int) -> int | None:
    for one in bounds or ():
        if one["key"] == field_id:
            return time_bound(one["value"])
    return None


def time_bound(value: bytes | None) -> int | None:
    """Return a bound on a time in microseconds, as Iceberg keeps it: eight bytes."""
    return None if value is None else int.from_bytes(value, "little", signed=True)
