"""The replay as a Spark stream: a step of the plan is a micro-batch, its number the offset.

All sources of one query go by the same plan, so they advance together and cannot drift apart;
where a query is, is Spark's own log of offsets, so a restart goes on exactly there.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.types import StructType

from backfill.plan import plan_from_json
from backfill.source import LakeSource
from headrace.config.load import load_workspace
from headrace.errors import UsageError
from headrace.schema.arrow import for_spark
from headrace.schema.iceberg import from_iceberg
from headrace.schema.spark import to_spark
from headrace.spark import cores

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import pyarrow as pa

    from backfill.plan import Plan
    from backfill.units import Unit

NAME = "headrace"


class ReplaySource(DataSource):
    """`spark.readStream.format("headrace")`, with the options `workspace`, `plan` and `table`."""

    @classmethod
    def name(cls) -> str:
        """Return the format's name."""
        return NAME

    def schema(self) -> StructType:
        """Return the table's columns, `__metadata__` included, as the live source has them."""
        source = self._opened()
        columns = from_iceberg(source.table.schema(), source.table.properties)
        return StructType.fromJson(to_spark(columns))

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: ARG002, N802 - Spark's name
        """Return the reader of this table's part of the plan."""
        return StepReader({name: self._option(name) for name in ("workspace", "plan", "table")})

    def _opened(self) -> LakeSource:
        return open_source({name: self._option(name) for name in ("workspace", "plan", "table")})

    def _option(self, name: str) -> str:
        value = self.options.get(name)
        if value is None:
            raise UsageError(f"format {NAME} needs the option {name}", "see backfill.spark_source")
        return str(value)


@dataclass
class Share(InputPartition):
    """What one task reads: a chain of units, of about the weight of every other task's."""

    units: tuple[Unit, ...]

    def __init__(self, units: Sequence[Unit]) -> None:
        super().__init__(None)
        self.units = tuple(units)


class StepReader(DataSourceStreamReader):
    """One table's part of a plan, step by step."""

    def __init__(self, options: dict[str, str]) -> None:
        self._options = options
        self._plan: Plan | None = None
        self._begun = 0

    def initialOffset(self) -> dict[str, Any]:  # noqa: N802 - Spark's name
        """Return the beginning of the plan."""
        return {"step": 0}

    def latestOffset(self) -> dict[str, Any]:  # noqa: N802 - Spark's name
        """Return the end of the next step: one step a batch, as Spark asks for no limit."""
        return {"step": min(self._begun + 1, len(self._loaded().steps))}

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[InputPartition]:
        """Share out the units of the steps in between, evenly by weight, one chain a core."""
        # Spark asks for the last batch again at a restart: this is how we learn where it is.
        self._begun = int(end["step"])
        steps = self._loaded().steps[int(start["step"]) : int(end["step"])]
        units = [
            unit for step in steps for unit in step.units if unit.source == self._options["table"]
        ]
        return [Share(chain) for chain in even_chains(units, cores())]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Read a chain of units, as Arrow."""
        if not isinstance(partition, Share):
            return
        source = open_source(self._options)
        for unit in partition.units:
            for batch in source.rows(unit):
                yield batch.cast(for_spark(batch.schema))

    def commit(self, end: dict[str, Any]) -> None:
        """Need nothing: the plan and Spark's log are all there is to keep."""

    def stop(self) -> None:
        """Need nothing: no connection is held."""

    def __getstate__(self) -> dict[str, Any]:
        # The plan of a year need not travel to every task.
        return {"_options": self._options, "_plan": None, "_begun": self._begun}

    def _loaded(self) -> Plan:
        if self._plan is None:
            self._plan = plan_from_json(Path(self._options["plan"]).read_text(encoding="utf-8"))
        return self._plan


def even_chains(units: Sequence[Unit], chains: int) -> list[list[Unit]]:
    """Share out units so that every chain has about the same weight; the heaviest go first."""
    shares: list[list[Unit]] = [[] for _ in range(max(1, min(chains, len(units))))]
    weights = [0] * len(shares)
    for unit in sorted(units, key=lambda unit: (-unit.size_bytes, unit.place)):
        lightest = weights.index(min(weights))
        shares[lightest].append(unit)
        weights[lightest] += unit.size_bytes
    return [sorted(share, key=lambda unit: unit.place) for share in shares]


def open_source(options: dict[str, str]) -> LakeSource:
    """Open the table of those options at the snapshot that the plan has pinned."""
    plan = plan_from_json(Path(options["plan"]).read_text(encoding="utf-8"))
    pinned = {source.name: source.snapshot_id for source in plan.sources}
    if options["table"] not in pinned:
        raise UsageError(
            f"the plan has no table {options['table']}", f"it has {', '.join(sorted(pinned))}"
        )
    workspace = load_workspace(Path(options["workspace"]))
    return LakeSource(
        workspace, options["table"], plan.period, plan.regions, pinned[options["table"]]
    )
