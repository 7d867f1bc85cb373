"""The replay as a Spark stream: a step of the plan is a micro-batch, its number the offset.

All sources of one query go by the same plan, so they advance together and cannot drift apart;
where a query is, is Spark's own log of offsets, so a restart goes on exactly there.
"""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition

from backfill.pace import StepPace, parse_rate
from backfill.plan import read_plan
from backfill.state import reads_beside
from headrace.errors import UsageError
from headrace.locks import Claim

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import pyarrow as pa
    from pyspark.sql.types import StructType

    from backfill.plan import Plan
    from backfill.planner import Step
    from backfill.units import OffsetRange, Unit

NAME = "headrace"
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
        from backfill.spark_task import schema_of  # noqa: PLC0415 - a schema is given, as a rule

        return schema_of(self._chosen())

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: N802 - Spark's name
        """Return the reader of this table's part of the plan."""
        return StepReader(self._chosen(), schema)

    def _chosen(self) -> dict[str, str]:
        missing = [name for name in REQUIRED if self.options.get(name) is None]
        if missing:
            raise UsageError(
                f"format {NAME} needs the option {', '.join(missing)}", "see backfill.spark_source"
            )
        more = ("columns", "rate_limit", "readers", "ahead", "until", "finished", "lets_go")
        names = (*REQUIRED, *more)
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


@dataclass
class Finished(InputPartition):
    """What a task reads of a table that has no rows any more: one row that holds nobody up."""

    def __init__(self) -> None:
        super().__init__(None)


class StepReader(DataSourceStreamReader):
    """One table's part of a plan, step by step, as rows of the schema that Spark was promised."""

    def __init__(self, options: dict[str, str], schema: StructType | None = None) -> None:
        self._options = options
        self._schema = schema
        self._plan: Plan | None = None
        self._begun = 0
        self._pace: StepPace | None = None
        self._claim: Claim | None = None
        self._is_released = False

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
        elif begun == len(steps):
            self._let_go()
        return {"step": max(begun, min(begun + 1, until))}

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[InputPartition]:
        """Share out the units of the steps in between, evenly by weight, one chain a reader."""
        # Spark asks for the last batch again at a restart: this is how we learn where it is.
        self._begun = int(end["step"])
        if self._options.get("finished"):
            return [Finished()]
        first, table = int(start["step"]), self._options["table"]
        steps = self._loaded().steps[first : int(end["step"])]
        units = [unit for step in steps for unit in step.units if unit.source == table]
        ranges = [one for step in steps for one in step.ranges if one.source == table]
        readers = self._readers()
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
        from backfill.spark_task import last_row, read_share  # noqa: PLC0415 - only tasks read

        if isinstance(partition, Finished) and self._schema is not None:
            yield last_row(self._schema, self._options["finished"].split(","))
        if not isinstance(partition, Share):
            return

        yield from read_share(partition, self._options, self._schema)

    def commit(self, end: dict[str, Any]) -> None:
        """Need nothing: the plan and Spark's log are all there is to keep."""

    def stop(self) -> None:
        """Leave it to another query of this run to set its pace."""
        if self._claim is not None:
            self._claim.release()

    def __getstate__(self) -> dict[str, Any]:
        # The plan of a year need not travel to every task.
        return {
            "_options": self._options,
            "_schema": self._schema,
            "_plan": None,
            "_begun": self._begun,
            "_pace": None,
            "_claim": None,
            "_is_released": self._is_released,
        }

    def _let_go(self) -> None:
        """Remove the tag once all is processed, where nobody else does.

        Spark asks for what comes after a batch when that is committed. It would commit the last
        batch to its source only with the next, and there is none.
        """
        if self._is_released or not self._options.get("lets_go"):
            return
        self._is_released = True
        # The processes that plan batches start sooner without pydantic.
        from backfill import tags  # noqa: PLC0415 - as said
        from headrace.config.load import load_workspace  # noqa: PLC0415 - as above
        from headrace.iceberg.catalog import load_table  # noqa: PLC0415 - as above

        # The tag only keeps files too long; another start tries again.
        with contextlib.suppress(Exception):
            plan = Path(self._options["plan"])
            workspace = load_workspace(Path(self._options["workspace"]))
            tags.release(load_table(workspace, self._options["table"]), plan.parent.name)

    def _loaded(self) -> Plan:
        if self._plan is None:
            self._plan = read_plan(Path(self._options["plan"]))
        return self._plan

    def _readers(self) -> int:
        from headrace.spark import cores  # noqa: PLC0415 - the option is given, as a rule

        return int(self._options.get("readers") or cores())

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
            self._pace = StepPace(rate)
        self._pace.before(step.rows, step.size_bytes)


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
