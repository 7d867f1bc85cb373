"""The replay as a Spark stream: a step of the plan is a micro-batch, its number the offset.

All sources of one query go by the same plan, so they advance together and cannot drift apart;
where a query is, is Spark's own log of offsets, so a restart goes on exactly there.
"""

from __future__ import annotations

import contextlib
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition

from backfill.plan.plan import read_head, read_plan
from backfill.run.pace import Throttle, parse_rate
from backfill.run.state import reads_beside
from headrace.errors import UsageError
from headrace.jvm.relay import RELAY, RelayAddress
from headrace.jvm.tasks import spread
from headrace.locks import Claim

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import pyarrow as pa
    from pyspark.sql.types import StructType

    from backfill.plan.plan import Plan
    from backfill.plan.steps import Step
    from backfill.plan.units import OffsetRange, Unit
    from backfill.read.serializable_table import SerializableTable

T = TypeVar("T")
NAME = "headrace"
# The keys to a store that a catalog hands out expire.
LOOKED_UP_S = 600.0
REQUIRED = ("workspace", "plan", "table")


class ReplaySource(DataSource):
    """`spark.readStream.format("headrace")`, with the options `workspace`, `plan` and `table`.

    `columns` names the columns to read, with commas; Spark pushes none into a streaming read. Without
    it all are read but `__record__`, which no application has live; it can be named. `rate_limit` is
    how fast the whole plan may go, as on the command line, `readers` among how many tasks a step is
    shared out: by default as many as there are cores here. `until` is the number of the step to end
    before. `finished` names the columns of watermarks of a table that has no rows any more: each
    batch has one row, at the end of all time.
    """

    @classmethod
    def name(cls) -> str:
        """Return the format's name."""
        return NAME

    def schema(self) -> StructType:
        """Return the table's columns, `__metadata__` included, as the live source has them."""
        from backfill.apps.spark_task import schema_of  # noqa: PLC0415 - a schema is given, as a rule

        return schema_of(self._chosen())

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: N802 - Spark's name
        """Return the reader of this table's part of the plan."""
        return StepReader(self._chosen(), schema)

    def _chosen(self) -> dict[str, str]:
        missing = [name for name in REQUIRED if self.options.get(name) is None]
        if missing:
            raise UsageError(
                f"format {NAME} needs the option {', '.join(missing)}",
                "see backfill.apps.spark_source",
            )
        more = ("columns", "rate_limit", "readers", "ahead", "until", "finished", "lets_go", RELAY)
        names = (*REQUIRED, *more)
        return {name: str(self.options[name]) for name in names if self.options.get(name)}


@dataclass
class ReplayPartition(InputPartition):
    """What one task reads: a chain of units, of about the weight of every other task's.

    With ranges, it is those offsets of those units, in their order. With columns, the others are
    left blank, for the query uses none of them.
    """

    step: int
    number: int
    count: int
    units: Sequence[Unit]
    ranges: Sequence[OffsetRange] = ()
    columns: tuple[str, ...] | None = None
    shipped: SerializableTable | None = None


class FinishedPartition(InputPartition):
    """What a task reads of a table that has no rows any more: one row that holds nobody up."""


class StepReader(DataSourceStreamReader):
    """One table's part of a plan, step by step, as rows of the schema that Spark was promised."""

    def __init__(self, options: dict[str, str], schema: StructType | None = None) -> None:
        self._options = options
        self._schema = schema
        self._plan: Plan | None = None
        self._begun = 0
        self._pace: Throttle | None = None
        self._claim: Claim | None = None
        self._is_released = False
        self._shipped: SerializableTable | None = None
        self._looked_up_s = 0.0

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
            self._wait_for(steps[begun])
        elif begun == len(steps) and self._options.get("lets_go"):
            # Spark asks for what comes after a batch when that is committed. It would commit the
            # last batch to its source only with the next, and there is none.
            self.release()
        return {"step": max(begun, min(begun + 1, until))}

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[InputPartition]:
        """Share out the units of the steps in between, evenly by weight, one chain a reader."""
        # Spark asks for the last batch again at a restart: this is how we learn where it is.
        self._begun = int(end["step"])
        if self._options.get("finished"):
            return [FinishedPartition(None)]
        first, table = int(start["step"]), self._options["table"]
        steps = self._loaded().steps[first : int(end["step"])]
        units = [unit for step in steps for unit in step.units if unit.source == table]
        ranges = [one for step in steps for one in step.ranges if one.source == table]
        from headrace.jvm.sizes import cores  # noqa: PLC0415 - the option is given, as a rule

        readers = int(self._options.get("readers") or cores())
        columns = reads_beside(Path(self._options["plan"])).get(table)
        shares = (
            [(units, share) for share in even_ranges(ranges, readers)]
            if ranges
            else [(chain, []) for chain in even_chains(units, readers)]
        )
        return [
            ReplayPartition(first, number, len(shares), *share, columns, self._shipped_table())
            for number, share in enumerate(shares)
        ]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Read a chain of units, as Arrow."""
        from backfill.apps.spark_task import last_row, read_partition  # noqa: PLC0415 - only tasks read

        if isinstance(partition, FinishedPartition) and self._schema is not None:
            yield last_row(self._schema, self._options["finished"].split(","))
        if isinstance(partition, ReplayPartition):
            yield from read_partition(partition, self._options, self._schema)

    def stop(self) -> None:
        """Leave it to another query of this run to set its pace."""
        if self._claim is not None:
            self._claim.release()

    def __getstate__(self) -> dict[str, Any]:
        # The plan of a year need not travel to every task.
        return {**self.__dict__, "_plan": None, "_pace": None, "_claim": None, "_shipped": None}

    def release(self) -> None:
        """Remove the tag of the table's snapshot: all is processed."""
        if self._is_released:
            return
        self._is_released = True
        # The processes that plan batches start sooner without pydantic.
        from backfill.run import tags  # noqa: PLC0415 - as above
        from headrace.config.load import load_workspace  # noqa: PLC0415 - as above
        from headrace.iceberg.catalog import load_table  # noqa: PLC0415 - as above

        # The tag only keeps files too long; another start tries again.
        with contextlib.suppress(Exception):
            plan = Path(self._options["plan"])
            workspace = load_workspace(Path(self._options["workspace"]))
            tags.release(load_table(workspace, self._options["table"]), plan.parent.name)

    @property
    def steps(self) -> int:
        """How many steps the plan has."""
        return len(self._loaded().steps)

    def _loaded(self) -> Plan:
        if self._plan is None:
            self._plan = read_plan(Path(self._options["plan"]))
        return self._plan

    def _shipped_table(self) -> SerializableTable | None:
        """Return what tasks on other machines need of the table; None where they are here."""
        relay = RelayAddress.of_json(self._options.get(RELAY))
        now_s = time.monotonic()
        if relay is not None and (self._shipped is None or now_s - self._looked_up_s > LOOKED_UP_S):
            from backfill.read.serializable_table import SerializableTable  # noqa: PLC0415 - as above
            from headrace.config.load import load_workspace  # noqa: PLC0415 - as above

            workspace = load_workspace(Path(self._options["workspace"]))
            head = read_head(Path(self._options["plan"]))
            self._shipped = SerializableTable.of(workspace, self._options["table"], head, relay)
            self._looked_up_s = now_s
        return self._shipped

    def _wait_for(self, step: Step) -> None:
        """Wait until the rate allows a step, with the rows of all sources.

        One reader of a query waits for all: whoever waited for another would take that for slowness.
        """
        rate = parse_rate(self._options.get("rate_limit"))
        if rate is None:
            return
        if self._claim is None:
            self._claim = Claim(Path(self._options["plan"]).with_name("pace.lock"))
        if not self._claim.is_ours():
            return
        if self._pace is None:
            self._pace = Throttle(rate)
        self._pace.before(step.rows, step.size_bytes)


def even_chains(units: Sequence[Unit], chains: int) -> list[list[Unit]]:
    """Share out units so that every chain has about the same weight; the heaviest go first."""
    heaviest_first = sorted(units, key=lambda unit: (-unit.size_bytes, unit.order_key))
    shares = spread(heaviest_first, max(1, chains), lambda unit: unit.size_bytes)
    return [sorted(share, key=lambda unit: unit.order_key) for share in shares or [[]]]


def even_ranges(ranges: Sequence[OffsetRange], shares: int) -> list[list[OffsetRange]]:
    """Share out Kafka partitions, each whole, so that every share has about as many offsets."""
    longest_first = sorted(ranges, key=lambda one: (one.first - one.end_exclusive, one.partition))
    return spread(longest_first, shares, lambda one: one.end_exclusive - one.first) or [[]]
