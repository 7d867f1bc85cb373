"""Maintenance: larger files, shorter history, fewer manifests, nothing that nobody refers to.

Iceberg's own procedures do the work. Each commits for itself and checks what it replaces, so the
writer and replays go on beside them; its commit state is a property, which none of them touches.
"""

from __future__ import annotations

import contextlib
import re
import time
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

import structlog
from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]  # it ships no types

from headrace.contract import INGESTION_TS, OFFSET, PARTITION
from headrace.iceberg.catalog import split_name, table_loader
from headrace.iceberg.file_figures import FileFiguresReader
from headrace.iceberg.history import refers_to
from headrace.iceberg.specs import specs_in_use
from headrace.locks import hold
from headrace.times import format_time_us
from lake_writer.compaction import FEWEST_FILES, HOUR_US, SMALL_SHARE
from lake_writer.maintenance_plan import plan_maintenance

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import Row, SparkSession

    from headrace.config.load import LoadedLakeTable
    from headrace.config.workspace.workspace import Workspace
    from headrace.signals import Drain

# A file that a commit or a replay of three days ago still needs is none that anybody waits for.
ORPHAN_AGE: Final = timedelta(days=3)
SORT: Final = ", ".join(f"{column} ASC" for column in (INGESTION_TS, PARTITION, OFFSET))
# Compaction is off the hot path, and its files stay: a tenth smaller, for a sixth more of its CPU.
LEVEL: Final = "write.parquet.compression-level"
LEVEL_OF_COMPACTED: Final = ("spark.sql.iceberg.compression-level", "9")
# What Iceberg throws after the table's `commit.retry.num-retries`, and where the writer has merged
# a manifest that was to be rewritten; nothing of it is in the table.
COMMIT_LOST: Final = ("CommitFailedException", "exceptions.ValidationException: Deleted manifest")
MISSING: Final = re.compile(r"NotFoundException: File does not exist: (\S+[.]avro)")
# A step that reads the whole history may lose to a writer that shortens it; the next time seldom.
TRIES: Final = 3
# What is planned again in a moment. Of others, all the work was done for a commit that is lost.
CHEAP: Final = "rewrite_manifests"
log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Maintained:
    """What maintenance came to; `left` are Iceberg's procedures that are to be tried again."""

    hours_compacted: int = 0
    files_before: int = 0
    files_after: int = 0
    files_expired: int = 0
    manifests_rewritten: int = 0
    orphans_removed: int = 0
    left: tuple[str, ...] = ()


class Maintenance:
    """One table's maintenance."""

    def __init__(self, workspace: Workspace, table: LoadedLakeTable) -> None:
        self._config = table.config
        self._load = table_loader(workspace, table.config.table.identifier)
        self._lock = workspace.state_dir / "lake_writer" / table.config.name / "maintenance"
        self._left: list[str] = []

    def run(self, spark: SparkSession, drain: Drain) -> Maintained:
        """Do all of it, or as much as there is time for until asked to end."""
        what = f"maintenance of {self._config.table.identifier}"
        with hold(self._lock, what, "wait for that run; it does the same work"):
            with self._level(spark):
                hours, before, after = self._compact(spark, drain)
            steps = (self._expire, self._rewrite_manifests, self._remove_orphans)
            expired, manifests, orphans = [0 if drain.requested else step(spark) for step in steps]
        left = tuple(dict.fromkeys(self._left))
        return Maintained(hours, before, after, expired, manifests, orphans, left)

    def _compact(self, spark: SparkSession, drain: Drain) -> tuple[int, int, int]:
        target = self._config.table.target_file_size
        table = self._load()
        figures = FileFiguresReader(SMALL_SHARE * target).read(table)
        hours = plan_maintenance(table, figures, time.time_ns() // 1_000).hours
        done = before = after = 0
        for hour in hours:
            if drain.requested:
                break
            begin, end = (format_time_us(at) for at in (hour, hour + HOUR_US))
            where = f"{INGESTION_TS} >= TIMESTAMP '{begin}' AND {INGESTION_TS} < TIMESTAMP '{end}'"
            found = self._rows(
                spark,
                "rewrite_data_files",
                strategy="'sort'",
                sort_order=f"'{SORT}'",
                where=_text(where),
                options=f"map('min-input-files', '{FEWEST_FILES}',"
                f" 'target-file-size-bytes', '{target}')",
            )
            for row in found:
                done += 1
                before += int(row["rewritten_data_files_count"])
                after += int(row["added_data_files_count"])
                log.info("hour compacted", hour=begin, done=done, of=len(hours))
        return done, before, after

    @contextlib.contextmanager
    def _level(self, spark: SparkSession) -> Iterator[None]:
        """Compress more than the writer does, where the table says nothing of it."""
        properties = self._load().properties
        codec = properties.get("write.parquet.compression-codec", "zstd")
        if LEVEL in properties or codec != "zstd":
            yield
            return
        name, level = LEVEL_OF_COMPACTED
        spark.conf.set(name, level)
        try:
            yield
        finally:
            spark.conf.unset(name)

    def _expire(self, spark: SparkSession) -> int:
        # How old they get says the table, by a property that Iceberg reads itself. Snapshots under
        # a tag stay: replays hold theirs that way.
        found = self._rows(spark, "expire_snapshots")
        log.info("snapshots were expired")
        return sum(int(number or 0) for row in found for number in row)

    def _rewrite_manifests(self, spark: SparkSession) -> int:
        done = 0
        for spec_id in specs_in_use(self._load()):
            found = self._rows(spark, "rewrite_manifests", spec_id=str(spec_id))
            done += sum(int(row["rewritten_manifests_count"]) for row in found)
        log.info("manifests were rewritten")
        return done

    def _remove_orphans(self, spark: SparkSession) -> int:
        # A store's own listing is the only one for its locations. On a local disk Hadoop's it is: the
        # other one asks for the rights of each file, and fails where the writer has just removed one.
        is_local = urlsplit(self._load().location()).scheme in {"", "file"}
        # Whatever any snapshot, tag or branch refers to is none; a commit in flight is younger.
        found = self._rows(
            spark,
            "remove_orphan_files",
            older_than=f"TIMESTAMP '{(datetime.now(tz=UTC) - ORPHAN_AGE).isoformat()}'",
            prefix_listing="false" if is_local else "true",
        )
        log.info("orphans removed", files=len(found))
        return len(found)

    def _rows(self, spark: SparkSession, procedure: str, **arguments: str) -> list[Row]:
        """Return a procedure's rows; none where the table changed under each of its tries."""
        catalog, database, table = split_name(self._config.table.identifier)
        name = ".".join(f"`{part}`" for part in (*database, table))
        given = {"table": _text(name), **arguments}
        shown = ", ".join(f"{key} => {value}" for key, value in given.items())
        for _ in range(TRIES):
            try:
                return spark.sql(f"CALL `{catalog}`.system.{procedure}({shown})").collect()
            except Py4JJavaError as problem:
                # All of Iceberg's own tries to commit were lost.
                if any(lost in str(problem) for lost in COMMIT_LOST):
                    if procedure != CHEAP:
                        break
                elif not self._read_what_is_gone(str(problem)):
                    raise
        log.warning(
            "left for the next run, because other jobs committed first each time", step=procedure
        )
        self._left.append(procedure)
        return []

    def _read_what_is_gone(self, problem: str) -> bool:
        """Whether the writer has let a snapshot go that was still to be read here.

        What the table still refers to is another matter.
        """
        missing = MISSING.search(problem)
        return missing is not None and not refers_to(self._load(), missing[1])


def _text(value: str) -> str:
    escaped = value.replace("'", "\\'")
    return f"'{escaped}'"
