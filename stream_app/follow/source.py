"""Following tables as Spark streams: the offset is a place in all tables of the query together."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec
import structlog
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.types import StructType

from backfill.follow import holding
from backfill.follow.decisions import Decisions
from backfill.follow.follower import Follower, parts
from backfill.follow.place import Place
from backfill.follow.table import ALWAYS, FollowedTable
from backfill.follow.task import Asked, Share, rows, units_of
from backfill.planner import Limits
from backfill.source import LakeSource
from backfill.spark_source import even_chains
from headrace.config.load import load_workspace
from headrace.errors import HeadraceError, Terminal, Transient
from headrace.schema.iceberg import from_iceberg
from headrace.schema.spark import to_spark

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import pyarrow as pa

NAME: Final = "headrace_follow"
# A catalog may be away for so long before a query ends of it.
PATIENCE_S: Final = 300.0
log = structlog.get_logger(__name__)


class FollowSource(DataSource):
    """`spark.readStream.format("headrace_follow")`, as `stream_app.followed` opens it."""

    @classmethod
    def name(cls) -> str:
        """Return the format's name."""
        return NAME

    def schema(self) -> StructType:
        """Return the table's columns, `__metadata__` included, as the live source has them."""
        asked = self._asked()
        source = LakeSource(
            load_workspace(Path(asked.workspace)),
            asked.table,
            ALWAYS,
            (),
            columns=asked.columns,
            time_column=asked.followed.time_column,
            as_stored=False,
        )
        columns = from_iceberg(source.columns, source.table.properties)
        return StructType.fromJson(to_spark(columns))

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: ARG002, N802 - Spark's name
        """Return the reader of this table."""
        return FollowReader(self._asked())

    def _asked(self) -> Asked:
        return msgspec.json.decode(self.options["asked"].encode(), type=Asked)


class FollowReader(DataSourceStreamReader):
    """One table of those that a query follows."""

    def __init__(self, asked: Asked) -> None:
        self._asked = asked
        self._at = None if asked.begin is None else Place.from_json(asked.begin)
        self._decisions = Decisions(Path(asked.folder))
        self._tables: dict[str, FollowedTable] = {}
        self._follower: Follower | None = None
        self._looked_at_s = float("-inf")

    def initialOffset(self) -> dict[str, Any]:  # noqa: N802 - Spark's name
        """Return where the very first start begins."""
        return self._place().to_json()

    def latestOffset(  # noqa: N802 - Spark's name
        self,
        start: dict[str, Any] | None = None,
        limit: object = None,  # noqa: ARG002 - Spark 4.2 gives both, Spark 4.1 none
    ) -> dict[str, Any]:
        """Return the end of the next batch, of a bounded size; where nothing is new, of the last."""
        at = self._place() if start is None else Place.from_json(start)
        following = self._decisions.after(at)
        if following is None and self._decisions.leads():
            following = self._decided(at)
        return (following or at).to_json()

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[InputPartition]:
        """Share out what lies in between, evenly by weight, one chain a reader."""
        # Spark asks with the last batch's end at a restart: this is how we learn where it is.
        self._at = self._understood(end)
        name = self._asked.table
        found = units_of(parts(name, self._table(name), self._understood(start), self._at))
        return [
            Share(self._at.number, number, snapshot, chain)
            for snapshot, units in found.items()
            for number, chain in enumerate(even_chains(units, self._asked.readers))
        ]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Read a chain of units, as Arrow."""
        if isinstance(partition, Share):
            yield from rows(self._asked, partition)

    def commit(self, end: dict[str, Any]) -> None:
        """Need nothing: Spark's log is all there is to keep."""

    def stop(self) -> None:
        """Let another process decide."""
        self._decisions.close()

    def __getstate__(self) -> dict[str, Any]:
        # Tasks need to know what to read, and no more.
        fresh = FollowReader(self._asked)
        return {**fresh.__dict__, "_at": None}

    def _place(self) -> Place:
        if self._at is None:
            raise Terminal(
                f"it is not known how far {self._asked.table} was followed",
                "the query's checkpoint is not whole: restore it, or begin anew under another name",
            )
        return self._at

    def _understood(self, said: dict[str, Any]) -> Place:
        place, tables = Place.from_json(said), {one.name for one in self._asked.tables}
        if place.tables.keys() != tables:
            raise Terminal(
                f"the checkpoint is of {', '.join(sorted(place.tables))}, and now"
                f" {', '.join(sorted(tables))} would be followed",
                "follow the same tables, or begin anew under another name",
            )
        return place

    def _table(self, name: str) -> FollowedTable:
        if name not in self._tables:
            workspace = load_workspace(Path(self._asked.workspace))
            (followed,) = (one for one in self._asked.tables if one.name == name)
            self._tables[name] = FollowedTable(workspace, followed)
        return self._tables[name]

    def _decided(self, at: Place) -> Place | None:
        """Decide what comes next, look at the tables where that is due, and let the others know."""
        if self._follower is None:
            limits = Limits(self._asked.max_rows, self._asked.max_bytes)
            tables = {one.name: self._table(one.name) for one in self._asked.tables}
            threshold_us = min(one.threshold_us for one in self._asked.tables)
            self._follower = Follower(tables, threshold_us, limits, lambda: time.time_ns() // 1000)
        look = at.is_settled and self._is_due()
        try:
            following = self._follower.next(at, look=look)
        except HeadraceError:
            raise
        except Exception as problem:  # noqa: BLE001 - what a catalog's client raises differs from kind to kind
            self._wait_for(problem)
            return None
        if look:
            self._looked_at_s = time.monotonic()
        self._say(self._follower, following)
        if following is at:
            return None
        if following.look != at.look:
            self._hold(at, following)
        self._decisions.keep(at, following)
        return following

    def _is_due(self) -> bool:
        if self._asked.once:
            return self._looked_at_s < 0
        return time.monotonic() - self._looked_at_s >= self._asked.interval_s

    def _wait_for(self, problem: Exception) -> None:
        """Wait for a catalog or a store that is away, as long as one may wait for it."""
        away_s = time.monotonic() - max(self._looked_at_s, 0.0)
        kind = type(problem).__name__
        if self._asked.once or self._looked_at_s < 0 or away_s > PATIENCE_S:
            raise Transient(
                f"the tables that are followed could not be looked at: {kind}: {problem}",
                "start it again when the catalog and its store answer",
            ) from problem
        log.warning("the tables could not be looked at, once more", reason=kind)
        time.sleep(min(self._asked.interval_s, 1.0))

    def _hold(self, at: Place, following: Place) -> None:
        """Hold what this batch and the next look need, before the batch is known to anybody."""
        for name, seen in following.tables.items():
            if seen.snapshot is not None and seen.snapshot != at.tables[name].snapshot:
                needed = seen.needed | at.tables[name].needed
                holding.move(self._table(name).table, self._asked.holder, needed)

    def _say(self, follower: Follower, place: Place) -> None:
        waits = follower.waits_for(place)
        if waits is None:
            self._decisions.say("")
        elif waits.is_told:
            self._decisions.say(f"{waits.table} is complete up to them")
        else:
            self._decisions.say(f"the clock is up to them, in {waits.table}")
