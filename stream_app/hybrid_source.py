"""A table's history, then its topics from the very next offset: one stream, one checkpoint.

The offset in Spark's log has both halves: the step of the plan over the tables, and the positions in
Kafka. The second stands still until the first has come to its end.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from pyspark.sql.datasource import DataSourceStreamReader, InputPartition

from backfill.apps import spark_source
from headrace.application import live_source
from headrace.application.live_source import LiveSource, live_reader

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import pyarrow as pa
    from pyspark.sql.types import StructType

    from backfill.apps.spark_source import StepReader
    from headrace.application.live_source import LiveReader

NAME: Final = "headrace_hybrid"
OF_THE_PAST: Final = ("workspace", "plan", "table", "columns", "ahead")


class HybridSource(LiveSource):
    """`spark.readStream.format("headrace_hybrid")`: a live source's options, and the past's.

    Those are `plan`, `table` and `handover` (the positions in Kafka, as JSON).
    """

    @classmethod
    def name(cls) -> str:
        """Return the format's name."""
        return NAME

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: ARG002, N802 - Spark's name
        """Return the reader of both."""
        chosen = {name: self.options[name] for name in OF_THE_PAST if self.options.get(name)}
        return HybridReader(
            spark_source.StepReader(chosen),
            live_reader(self.options),
            json.loads(self.options["handover"]),
            fresh=self.options.get("fresh") == "true",
        )


class HybridReader(DataSourceStreamReader):
    """First the steps of the plan, then the topics."""

    def __init__(
        self,
        past: StepReader,
        live: LiveReader,
        handover: dict[str, Any],
        *,
        fresh: bool,
    ) -> None:
        self._past = past
        self._live = live
        self._steps = past.steps
        self._begin: dict[str, Any] = {"past": past.initialOffset(), "live": handover}
        # Spark asks for the last batch's parts again at a restart, which is how we learn where it
        # is. Every batch of the history has a step: if Spark does not ask, that is all behind us.
        through: dict[str, Any] = {"past": {"step": self._steps}, "live": None}
        self._at = self._begin if fresh else through

    def initialOffset(self) -> dict[str, Any]:  # noqa: N802 - Spark's name
        """Return the beginning of the plan, and where the topics will be gone on with."""
        return self._begin

    def latestOffset(  # noqa: N802 - Spark's name
        self,
        start: dict[str, Any] | None = None,
        limit: object = None,  # noqa: ARG002 - Spark 4.2 gives both, Spark 4.1 none
    ) -> dict[str, Any]:
        """Return the end of the next step, or of the next batch once all steps are done."""
        at = self._at if start is None else start
        past, live = at["past"], at["live"]
        if past["step"] < self._steps:
            past = self._past.latestOffset(past)
        else:
            live = self._live.latestOffset(live)
        return {"past": past, "live": live}

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[InputPartition]:
        """Share out what lies in between: units of the table, or offsets."""
        self._at = end
        return [
            *self._past.partitions(start["past"], end["past"]),
            *self._live.partitions(start["live"], end["live"]),
        ]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Read a task's part, of either half."""
        if isinstance(partition, live_source.Share):
            yield from self._live.read(partition)
        else:
            yield from self._past.read(partition)

    def commit(self, end: dict[str, Any]) -> None:
        """Let go of the table's snapshot when all of it is processed; tell the group where it is."""
        if end["past"]["step"] < self._steps:
            return
        self._past.release()
        self._live.commit(end["live"])

    def stop(self) -> None:
        """Let go of the connections."""
        self._live.stop()
