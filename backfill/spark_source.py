"""The replay as a Spark stream: a step of the plan is a micro-batch, its number the offset.

All sources of one query go by the same plan, so they advance together and cannot drift apart;
where a query is, is Spark's own log of offsets, so a restart goes on exactly there.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType

from backfill.blanks import to_read, with_blanks
from backfill.measured import TaskMeter, file_of
from backfill.pace import TokenBucket
from backfill.plan import read_head, read_plan
from backfill.reading import read_in_order
from backfill.source import LakeSource
from backfill.state import reads_beside
from headrace.config.load import load_workspace
from headrace.errors import UsageError
from headrace.python_workers import settle
from headrace.records.ahead import Ahead
from headrace.schema.arrow import for_spark
from headrace.schema.iceberg import from_iceberg
from headrace.schema.spark import to_spark
from headrace.spark import cores

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import pyarrow as pa
    from pyiceberg.schema import Schema

    from backfill.plan import Plan
    from backfill.units import OffsetRange, Unit

NAME = "headrace"
REQUIRED = ("workspace", "plan", "table")
# Opened tables are kept by a worker for so long: the keys that a catalog hands out expire.
KEPT_S = 600


class ReplaySource(DataSource):
    """`spark.readStream.format("headrace")`, with the options `workspace`, `plan` and `table`.

    `columns` names the columns to read, with commas; Spark pushes none into a streaming read. Without
    it all are read but `__record__`, which no application has live; it can be named.
    `rows_per_s` is how fast the whole plan may go, `readers` among how many tasks a step is shared
    out: by default as many as there are cores here. `until` is the number of the step to end before.
    """

    @classmethod
    def name(cls) -> str:
        """Return the format's name."""
        return NAME

    def schema(self) -> StructType:
        """Return the table's columns, `__metadata__` included, as the live source has them."""
        source = open_source(self._chosen())
        return spark_schema(source.columns, source.table.properties)

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: N802 - Spark's name
        """Return the reader of this table's part of the plan."""
        return StepReader(self._chosen(), schema)

    def _chosen(self) -> dict[str, str]:
        missing = [name for name in REQUIRED if self.options.get(name) is None]
        if missing:
            raise UsageError(
                f"format {NAME} needs the option {', '.join(missing)}", "see backfill.spark_source"
            )
        names = (*REQUIRED, "columns", "rows_per_s", "readers", "ahead", "until")
        return {name: str(self.options[name]) for name in names if self.options.get(name)}


@dataclass
class Share(InputPartition):
    """What one task reads: a chain of units, of about the weight of every other task's.

    With ranges, it is those offsets of those units, in their order. With columns, the others are
    left blank, for the query uses none of them.
    """

    step: int
    number: int
    count: int
    units: tuple[Unit, ...]
    ranges: tuple[OffsetRange, ...]
    columns: tuple[str, ...] | None

    def __init__(
        self,
        step: int,
        place: tuple[int, int],
        units: Sequence[Unit],
        ranges: Sequence[OffsetRange],
        columns: Sequence[str] | None = None,
    ) -> None:
        super().__init__(None)
        self.step = step
        self.number, self.count = place
        self.units = tuple(units)
        self.ranges = tuple(ranges)
        self.columns = None if columns is None else tuple(columns)


class StepReader(DataSourceStreamReader):
    """One table's part of a plan, step by step, as rows of the schema that Spark was promised."""

    def __init__(self, options: dict[str, str], schema: StructType | None = None) -> None:
        self._options = options
        self._schema = schema
        self._plan: Plan | None = None
        self._begun = 0
        self._bucket: TokenBucket | None = None

    def initialOffset(self) -> dict[str, Any]:  # noqa: N802 - Spark's name
        """Return the beginning of the plan."""
        return {"step": 0}

    def latestOffset(  # noqa: N802 - Spark's name
        self,
        start: dict[str, Any] | None = None,
        limit: object = None,  # noqa: ARG002 - Spark 4.2 gives both, Spark 4.1 none
    ) -> dict[str, Any]:
        """Return the end of the next step: one step a batch, whatever limit Spark would allow."""
        begun = self._begun if start is None else int(start["step"])
        steps = self._loaded().steps
        until = int(self._options.get("until", len(steps)))
        if begun < until:
            self._wait_for(steps[begun].rows)
        return {"step": max(begun, min(begun + 1, until))}

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[InputPartition]:
        """Share out the units of the steps in between, evenly by weight, one chain a reader."""
        # Spark asks for the last batch again at a restart: this is how we learn where it is.
        self._begun = int(end["step"])
        first, table = int(start["step"]), self._options["table"]
        steps = self._loaded().steps[first : int(end["step"])]
        units = [unit for step in steps for unit in step.units if unit.source == table]
        ranges = [one for step in steps for one in step.ranges if one.source == table]
        readers = int(self._options.get("readers", cores()))
        columns = reads_beside(Path(self._options["plan"])).get(table)
        if ranges:
            lanes = even_lanes(ranges, readers)
            return [
                Share(first, (number, len(lanes)), units, lane, columns)
                for number, lane in enumerate(lanes)
            ]
        chains = even_chains(units, readers)
        return [
            Share(first, (number, len(chains)), chain, (), columns)
            for number, chain in enumerate(chains)
        ]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Read a chain of units, as Arrow."""
        if not isinstance(partition, Share):
            return
        promised = None if self._schema is None else to_arrow_schema(self._schema)
        options, read = self._options, () if promised is None else tuple(promised.names)
        if promised is not None and partition.columns is not None:
            read = to_read(partition.columns, promised)
            options = {**options, "columns": ",".join(read)}
            if not partition.ranges:
                options["thin"] = "yes"
        source = open_source(options)
        settle()
        meter = TaskMeter(source.name, source.time_column, offsets=bool(partition.ranges))
        batches = (
            read_in_order(source, partition.units, partition.ranges, meter.left_out)
            if partition.ranges
            else (
                batch
                for unit in partition.units
                for batch in source.rows(unit, left_out=meter.left_out)
            )
        )
        bound = self._options.get("ahead")
        ahead = None if bound is None else Ahead.from_json(bound)
        for batch in meter.through(batches):
            kept = batch if ahead is None else meter.held_back(batch, ahead)
            given = kept.cast(for_spark(kept.schema))
            yield given if promised is None else with_blanks(given, promised, read)
        folder = Path(self._options["plan"]).parent
        meter.keep(file_of(folder, partition.step, source.name, partition.number, partition.count))

    def commit(self, end: dict[str, Any]) -> None:
        """Need nothing: the plan and Spark's log are all there is to keep."""

    def stop(self) -> None:
        """Need nothing: no connection is held."""

    def __getstate__(self) -> dict[str, Any]:
        # The plan of a year need not travel to every task.
        return {
            "_options": self._options,
            "_schema": self._schema,
            "_plan": None,
            "_begun": self._begun,
            "_bucket": None,
        }

    def _loaded(self) -> Plan:
        if self._plan is None:
            self._plan = read_plan(Path(self._options["plan"]))
        return self._plan

    def _wait_for(self, rows: int) -> None:
        """Wait until the rate allows a step. All sources wait for the rows of the whole step."""
        per_s = float(self._options.get("rows_per_s", 0))
        if per_s <= 0:
            return
        if self._bucket is None:
            self._bucket = TokenBucket(per_s, time.monotonic())
        time.sleep(self._bucket.take(rows, time.monotonic()))


def even_chains(units: Sequence[Unit], chains: int) -> list[list[Unit]]:
    """Share out units so that every chain has about the same weight; the heaviest go first."""
    shares: list[list[Unit]] = [[] for _ in range(max(1, min(chains, len(units))))]
    weights = [0] * len(shares)
    for unit in sorted(units, key=lambda unit: (-unit.size_bytes, unit.place)):
        lightest = weights.index(min(weights))
        shares[lightest].append(unit)
        weights[lightest] += unit.size_bytes
    return [sorted(share, key=lambda unit: unit.place) for share in shares]


def even_lanes(ranges: Sequence[OffsetRange], shares: int) -> list[list[OffsetRange]]:
    """Share out Kafka partitions, each whole, so that every share has about as many offsets."""
    found: list[list[OffsetRange]] = [[] for _ in range(max(1, min(shares, len(ranges))))]
    weights = [0] * len(found)
    for one in sorted(ranges, key=lambda one: (one.first - one.end_exclusive, one.partition)):
        lightest = weights.index(min(weights))
        found[lightest].append(one)
        weights[lightest] += one.end_exclusive - one.first
    return found


def spark_schema(columns: Schema, properties: Mapping[str, str]) -> StructType:
    """Return a table's columns as Spark has them."""
    return StructType.fromJson(to_spark(from_iceberg(columns, properties)))


def open_source(options: dict[str, str]) -> LakeSource:
    """Open the table of those options at the snapshot that the plan has pinned."""
    return _kept(tuple(sorted(options.items())), int(time.monotonic() // KEPT_S))


@lru_cache(maxsize=16)
def _kept(options: tuple[tuple[str, str], ...], _while: int) -> LakeSource:
    named = dict(options)
    plan = read_head(Path(named["plan"]))
    pinned = {source.name: source for source in plan.sources}
    table = named["table"]
    if table not in pinned:
        raise UsageError(f"the plan has no table {table}", f"it has {', '.join(sorted(pinned))}")
    workspace = load_workspace(Path(named["workspace"]))
    columns = [name for name in named.get("columns", "").split(",") if name]
    return LakeSource(
        workspace,
        table,
        plan.period,
        plan.regions,
        snapshot_id=pinned[table].snapshot_id,
        schema_id=pinned[table].schema_id,
        columns=columns,
        time_column=plan.time_column,
        conditions=pinned[table].conditions,
        thin="thin" in named,
        as_stored=False,
    )
