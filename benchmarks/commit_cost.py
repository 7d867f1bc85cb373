"""What a commit costs as a table grows old: `python -m benchmarks.commit_cost`.

Commits of one small file each go through the landing protocol into a table of a SQLite catalog on
the local disk, without Kafka and without Spark. Reported is the CPU and the wall time of a commit
over stretches of the table's life, and the last stretch over the first: flat is 1. Beside it stands
what a fixed piece of work costs in the same minutes: where that grows, the machine became slower.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import statistics
import tempfile
import time
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlparse
from uuid import uuid4

import pyarrow as pa
import pyarrow.parquet as pq
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.io.pyarrow import schema_to_pyarrow
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.transforms import DayTransform
from pyiceberg.typedef import Record as Partition

from headrace import contract
from headrace.contract import with_metadata
from headrace.iceberg.table_files import parquet_data_file
from headrace.landing.commit_state import Identity
from headrace.landing.commits import TableBatch, TableCommits
from headrace.schema.iceberg import to_iceberg
from headrace.schema.model import Field, Primitive, Record

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyiceberg.manifest import DataFile
    from pyiceberg.table import Table

NAME = ("bench", "events")
TOPIC = "events"
OWN = Record("tv.Event", (Field("id", Primitive.LONG, nullable=False),))
BEGIN = datetime(2026, 3, 1, tzinfo=UTC)
FIRST_DAY = 20_513
COMMITS_A_DAY = 1_440


@dataclass(frozen=True, slots=True)
class Stretch:
    """So many commits in a row: seconds of CPU and of wall time of each."""

    cpu_s: Sequence[float]
    wall_s: Sequence[float]
    fixed_s: Sequence[float]

    def shown(self, first: int) -> str:
        """Return a line of the report."""
        means = (statistics.fmean(one) * 1000 for one in (self.cpu_s, self.wall_s, self.fixed_s))
        cpu, wall, fixed = means
        worst = max(self.wall_s) * 1000
        return (
            f"{first + 1:>7,} - {first + len(self.cpu_s):>7,} {cpu:9.1f} {wall:9.1f} {worst:9.1f}"
            f" {fixed:9.2f}"
        )


class Commits:
    """A table, and a writer that commits a row of each of its partitions at a time."""

    def __init__(self, root: Path, partitions: int) -> None:
        self._root = root
        self._partitions = partitions
        catalog = SqlCatalog("lake", uri=f"sqlite:///{root}/c.db", warehouse=f"file://{root}")
        catalog.create_namespace(NAME[0])
        schema, own = to_iceberg(with_metadata(OWN))
        at = schema.find_field(contract.INGESTION_TS).field_id
        spec = PartitionSpec(PartitionField(at, 1000, DayTransform(), "day"))
        kept = {"write.metadata.delete-after-commit.enabled": "true", **contract.TABLE_PROPERTIES}
        catalog.create_table(
            NAME, schema, partition_spec=spec, properties={"format-version": "2", **own, **kept}
        )
        self._catalog = catalog
        identity = Identity.of_this_process("commit-cost", TOPIC)
        self._commits = TableCommits(self._load, "lake.bench.events", identity)
        self._commits.resume()
        # Its schema and its partitions stay: files are made by what it was at first.
        self._table = self._load()
        self._done = 0

    def stretch(self, number: int) -> Stretch:
        """Commit so many times; the files are made outside of the time."""
        cpu, wall, fixed = [], [], []
        for _ in range(number):
            batch = self._batch()
            cpu_s, wall_s = time.process_time(), time.perf_counter()
            self._commits.commit(batch)
            cpu.append(time.process_time() - cpu_s)
            wall.append(time.perf_counter() - wall_s)
            cpu_s = time.process_time()
            fixed_work()
            fixed.append(time.process_time() - cpu_s)
            self._done += 1
        return Stretch(cpu, wall, fixed)

    def metadata_bytes(self) -> int:
        """Return how large the table's metadata file is."""
        return Path(urlparse(self._load().metadata_location).path).stat().st_size

    def metadata_files(self) -> int:
        """Return how many files of metadata lie beside the data."""
        return sum(1 for _ in self._root.glob("*/*/metadata/*"))

    def _load(self) -> Table:
        return self._catalog.load_table(NAME)

    def _batch(self) -> TableBatch:
        at = self._done
        starts = dict.fromkeys(range(self._partitions), at)
        return TableBatch([self._file(self._table)], starts, dict.fromkeys(starts, at + 1))

    def _file(self, table: Table) -> DataFile:
        day = self._done // COMMITS_A_DAY
        place = Path(urlparse(table.location()).path) / "data" / f"{uuid4()}.parquet"
        place.parent.mkdir(parents=True, exist_ok=True)
        rows = [{"id": self._done, contract.METADATA: self._at(one)} for one in range(4)]
        pq.write_table(pa.Table.from_pylist(rows, schema_to_pyarrow(table.schema())), place)
        return parquet_data_file(
            table.metadata,
            place.as_uri(),
            place.stat().st_size,
            pq.read_metadata(place),
            Partition(FIRST_DAY + day),
        )

    def _at(self, partition: int) -> dict[str, object]:
        return {
            "kafka_ingestion_ts": BEGIN + timedelta(minutes=self._done),
            "topic": TOPIC,
            "partition": partition,
            "offset": self._done,
            "region": None,
        }


def fixed_work() -> None:
    """Do what costs the same each time, of the kind that a commit does: Python, hashes, dicts."""
    found: dict[str, int] = {}
    for number in range(2_000):
        found[hashlib.sha256(b"%d" % number).hexdigest()] = number


def main() -> None:
    """Measure and report."""
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--commits", type=int, default=10_000)
    asked.add_argument("--stretch", type=int, default=1_000, help="commits in a line of the report")
    asked.add_argument("--partitions", type=int, default=12, help="of the topic")
    given = asked.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        commits, found = Commits(Path(folder), given.partitions), []
        print(
            "            commits   CPU ms   wall ms  worst ms  fixed ms  metadata kB  metadata files"
        )
        for first in range(0, given.commits, given.stretch):
            found.append(commits.stretch(min(given.stretch, given.commits - first)))
            kilobytes, files = commits.metadata_bytes() / 1e3, commits.metadata_files()
            print(f"{found[-1].shown(first)} {kilobytes:12.0f} {files:15,}", flush=True)
    ratios = {
        what: statistics.fmean(getattr(found[-1], what)) / statistics.fmean(getattr(found[0], what))
        for what in ("cpu_s", "wall_s", "fixed_s")
    }
    print(json.dumps({"last_over_first": {what: round(one, 3) for what, one in ratios.items()}}))


if __name__ == "__main__":
    main()
