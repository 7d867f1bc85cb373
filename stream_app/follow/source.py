"""Following tables as Spark streams: the offset is a position in all tables of the query together."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec
import structlog
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition

from backfill.apps.spark_source import even_chains
from backfill.apps.spark_task import spark_schema
from backfill.plan.steps import Limits
from headrace.config.load import load_workspace
from headrace.errors import HeadraceError, Terminal, Transient
from stream_app.follow import tags
from stream_app.follow.decisions import Decisions
from stream_app.follow.follower import Follower, unit_parts
from stream_app.follow.position import FollowPosition
from stream_app.follow.table import FollowedTable, seen_table
from stream_app.follow.task import FollowOptions, FollowPartition, rows, units_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import pyarrow as pa
    from pyspark.sql.types import StructType

NAME: Final = "headrace_follow"
# A catalog may be away for so long before a query ends of it.
PATIENCE_S: Final = 300.0
log = structlog.get_logger(__name__)


class FollowSource(DataSource):
    """`spark.readStream.format("headrace_follow")`, as `stream_app.follow.streams` opens it."""

    @classmethod
    def name(cls) -> str:
        """Return the format's name."""
        return NAME

    def schema(self) -> StructType:
        """Return the table's columns, `__metadata__` included, as the live source has them."""
        options = self._options()
        workspace = load_workspace(Path(options.workspace))
        source = seen_table(workspace, options.followed, options.columns)
        return spark_schema(source.columns, source.table.properties)

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: ARG002, N802 - Spark's name
        """Return the reader of this table."""
        return FollowReader(self._options())

    def _options(self) -> FollowOptions:
        return msgspec.json.decode(self.options["settings"].encode(), type=FollowOptions)


class FollowReader(DataSourceStreamReader):
    """One table of those that a query follows."""

    def __init__(self, options: FollowOptions) -> None:
        self._options = options
        self._at = options.begin
        self._decisions = Decisions(Path(options.folder))
        self._tables: dict[str, FollowedTable] = {}
        self._follower: Follower | None = None
        self._looked_at_s = float("-inf")

    def initialOffset(self) -> dict[str, Any]:  # noqa: N802 - Spark's name
        """Return where the very first start begins."""
        return self._position().to_json()

    def latestOffset(  # noqa: N802 - Spark's name
        self,
        start: dict[str, Any] | None = None,
        limit: object = None,  # noqa: ARG002 - Spark 4.2 gives both, Spark 4.1 none
    ) -> dict[str, Any]:
        """Return the end of the next batch, of a bounded size; where nothing is new, of the last."""
        at = self._position() if start is None else FollowPosition.from_json(start)
        following = self._decisions.after(at)
        if following is None and self._decisions.lead.is_ours():
            following = self._decided(at)
        return (following or at).to_json()

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[InputPartition]:
        """Share out what lies in between, evenly by weight, one chain a reader."""
        # Spark asks with the last batch's end at a restart: this is how we learn where it is.
        self._at = self._parse_position(end)
        name = self._options.table
        found = units_of(unit_parts(name, self._table(name), self._parse_position(start), self._at))
        return [
            FollowPartition(self._at.number, number, snapshot, chain)
            for snapshot, units in found.items()
            for number, chain in enumerate(even_chains(units, self._options.readers))
        ]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Read a chain of units, as Arrow."""
        if isinstance(partition, FollowPartition):
            yield from rows(self._options, partition)

    def stop(self) -> None:
        """Let another process decide."""
        self._decisions.lead.release()

    def __getstate__(self) -> dict[str, Any]:
        # Tasks need to know what to read, and no more.
        fresh = FollowReader(self._options)
        return {**fresh.__dict__, "_at": None}

    def _position(self) -> FollowPosition:
        if self._at is None:
            raise Terminal(
                f"the position in {self._options.table} is not known",
                "the query's checkpoint is incomplete: restore it, or start over under another "
                "name",
            )
        return self._at

    def _parse_position(self, said: dict[str, Any]) -> FollowPosition:
        position = FollowPosition.from_json(said)
        tables = {one.name for one in self._options.tables}
        if position.tables.keys() != tables:
            raise Terminal(
                f"the checkpoint is of {', '.join(sorted(position.tables))}, but the application "
                f"now follows {', '.join(sorted(tables))}",
                "follow the same tables, or start over under another name",
            )
        return position

    def _table(self, name: str) -> FollowedTable:
        if name not in self._tables:
            workspace = load_workspace(Path(self._options.workspace))
            (followed,) = (one for one in self._options.tables if one.name == name)
            self._tables[name] = FollowedTable(workspace, followed)
        return self._tables[name]

    def _decided(self, at: FollowPosition) -> FollowPosition | None:
        """Decide what comes next, look at the tables where that is due, and let the others know."""
        if self._follower is None:
            limits = Limits(self._options.max_rows, self._options.max_bytes)
            tables = {one.name: self._table(one.name) for one in self._options.tables}
            threshold_us = min(one.threshold_us for one in self._options.tables)
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
        self._decisions.store(at, following)
        return following

    def _is_due(self) -> bool:
        if self._options.once:
            return self._looked_at_s < 0
        return time.monotonic() - self._looked_at_s >= self._options.interval_s

    def _wait_for(self, problem: Exception) -> None:
        """Wait for a catalog or a store that is away, as long as one may wait for it."""
        away_s = time.monotonic() - max(self._looked_at_s, 0.0)
        kind = type(problem).__name__
        if self._options.once or self._looked_at_s < 0 or away_s > PATIENCE_S:
            raise Transient(
                f"the followed tables could not be checked: {kind}: {problem}",
                "start it again when the catalog and its storage answer",
            ) from problem
        log.warning("the followed tables could not be checked; retrying", reason=kind)
        time.sleep(min(self._options.interval_s, 1.0))

    def _hold(self, at: FollowPosition, following: FollowPosition) -> None:
        """Hold what this batch and the next look need, before the batch is known to anybody."""
        for name, seen in following.tables.items():
            if seen.snapshot is not None and seen.snapshot != at.tables[name].snapshot:
                needed = seen.needed | at.tables[name].needed
                tags.move(self._table(name).table, self._options.holder, needed)

    def _say(self, follower: Follower, position: FollowPosition) -> None:
        waits = follower.waits_for(position)
        if waits is None:
            self._decisions.say("")
        elif waits.has_writer:
            self._decisions.say(f"{waits.table} is complete up to them")
        else:
            self._decisions.say(f"the clock has reached them, in {waits.table}")
