"""What a task of a replay in Spark does: read its share of a step, as Arrow.

Apart from the stream itself, which is made by small processes of Python: what reads tables takes
most of a second to import, and those need none of it.
"""

from __future__ import annotations

import threading
import time
from decimal import Decimal
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import structlog
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType

from backfill.plan.plan import read_head
from backfill.read.source import LakeSource
from backfill.read.step_records import read_in_order
from backfill.run.measurements import TaskMeter, file_of
from headrace.application.ahead_of_time import Ahead
from headrace.config.load import load_workspace
from headrace.errors import UsageError
from headrace.jvm.python_workers import settle
from headrace.jvm.relay import RELAY
from headrace.schema.arrow import for_spark
from headrace.schema.iceberg import from_iceberg
from headrace.schema.spark import to_spark

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from pyiceberg.schema import Schema
    from pyspark.sql import SparkSession

    from backfill.apps.spark_source import ReplayPartition
    from backfill.read.serializable_table import SerializableTable


# Opened tables are kept by a worker for so long: the keys that a catalog hands out expire.
KEPT_S = 600
# The options by which one opened table differs from another.
OPENS = ("workspace", "plan", "table", "columns", "thin", "ahead")
# 9999-12-31T23:59:59Z, the last second that Spark can write.
END_MS = 253_402_300_799_000
log = structlog.get_logger(__name__)


def read_partition(
    share: ReplayPartition, options: Mapping[str, str], schema: StructType | None
) -> Iterator[pa.RecordBatch]:
    """Read a chain of units as the columns that Spark was promised, and keep what was measured."""
    promised = None if schema is None else to_arrow_schema(schema)
    asked, read = dict(options), () if promised is None else tuple(promised.names)
    if promised is not None and share.columns is not None:
        read = tuple(name for name in promised.names if name in share.columns)
        asked["columns"] = ",".join(read)
        if not share.ranges:
            asked["thin"] = "yes"
    source = open_table(asked, share.shipped)
    settle()
    meter = TaskMeter(source.name, source.time_column, offsets=bool(share.ranges))
    batches = (
        read_in_order(source, share.units, share.ranges, meter.left_out)
        if share.ranges
        else (batch for unit in share.units for batch in source.rows(unit, filtered=meter.left_out))
    )
    ahead = Ahead.of_options(options)
    for batch in meter.through(batches):
        kept = batch if ahead is None else meter.held_back(batch, ahead)
        given = kept.cast(for_spark(kept.schema))
        yield given if promised is None else with_blanks(given, promised, read)
    folder = Path(options["plan"]).parent
    path = file_of(folder, share.step, source.name, share.number, share.count)
    meter.store(path, None if share.shipped is None else share.shipped.relay)


def last_row(schema: StructType, columns: Sequence[str]) -> pa.RecordBatch:
    """Return a row that is blank but for those columns, which are at the end of all time."""
    promised = to_arrow_schema(schema)
    end = pa.array([END_MS * 1000], pa.int64())
    held = [field.name for field in promised if field.name in columns]
    arrays = [end.cast(promised.field(name).type) for name in held]
    return with_blanks(pa.RecordBatch.from_arrays(arrays, names=held), promised, held)


def spark_schema(columns: Schema, properties: Mapping[str, str]) -> StructType:
    """Return a table's columns as Spark has them."""
    return StructType.fromJson(to_spark(from_iceberg(columns, properties)))


def schema_of(options: Mapping[str, str]) -> StructType:
    """Return the columns of the table of those options, at the snapshot of its plan."""
    source = open_table(options)
    return spark_schema(source.columns, source.table.properties)


def open_table(options: Mapping[str, str], shipped: SerializableTable | None = None) -> LakeSource:
    """Open the table of those options at the snapshot that the plan has pinned."""
    what = tuple((name, options[name]) for name in OPENS if options.get(name))
    return _kept(what, shipped, int(time.monotonic() // KEPT_S))


@lru_cache(maxsize=16)
def _kept(
    options: tuple[tuple[str, str], ...], shipped: SerializableTable | None, _while: int
) -> LakeSource:
    named = dict(options)
    plan = read_head(Path(named["plan"])) if shipped is None else shipped.plan()
    pinned = {source.name: source for source in plan.sources}
    table = named["table"]
    if table not in pinned:
        raise UsageError(f"the plan has no table {table}", f"it has {', '.join(sorted(pinned))}")
    workspace = load_workspace(Path(named["workspace"])) if shipped is None else None
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
        with_arrivals="ahead" in named,
        as_stored=False,
        opened=None if shipped is None else shipped.open(),
    )


def warm_readers(spark: SparkSession, options: Sequence[Mapping[str, str]]) -> None:
    """Let workers begin, and open the tables, while Spark still gets the query ready."""

    def opened(batches: Iterable[pa.RecordBatch]) -> Iterable[pa.RecordBatch]:
        for batch in batches:
            for one in options:
                # Elsewhere the table comes with the work.
                if RELAY not in one:
                    open_table(one)
            yield batch

    def warm() -> None:
        try:
            tasks = spark.sparkContext.defaultParallelism
            numbers = spark.range(0, tasks, 1, tasks).mapInArrow(opened, "id long")
            numbers.write.format("noop").mode("overwrite").save()
        except Exception as problem:  # noqa: BLE001 - the query meets it itself, and tells it better
            log.debug("Python workers could not be started ahead of time", problem=str(problem))

    threading.Thread(target=warm, name="warm-readers", daemon=True).start()


def with_blanks(batch: pa.RecordBatch, whole: pa.Schema, read: Collection[str]) -> pa.RecordBatch:
    """Return a batch with all columns of a schema, in its order; those not to be read are blank.

    Those that were to be read have to be there. Others may be, for the sake of the replay.
    """
    if batch.schema.names == whole.names == list(read):
        return batch
    held = set(read)
    columns = [
        batch.column(field.name) if field.name in held else _blank(field, batch.num_rows)
        for field in whole
    ]
    return pa.RecordBatch.from_arrays(columns, names=whole.names)


def _blank(field: pa.Field, rows: int) -> pa.Array:
    if field.nullable:
        return pa.nulls(rows, field.type)
    # No value is ever looked at, but Spark copies it, and trusts that it is there.
    if pa.types.is_string(field.type) or pa.types.is_binary(field.type):
        return pa.repeat(pa.scalar("", pa.string()).cast(field.type), rows)
    if pa.types.is_struct(field.type):
        held = list(field.type)
        return pa.StructArray.from_arrays([_blank(one, rows) for one in held], fields=held)
    if pa.types.is_nested(field.type):
        return pa.array([[]] * rows, field.type)
    if pa.types.is_decimal(field.type):
        return pa.repeat(pa.scalar(Decimal(0), field.type), rows)
    # Arrow casts int64 to no date, and int32 to no other time.
    is_wide = pa.types.is_temporal(field.type) and not pa.types.is_date32(field.type)
    zero = pa.scalar(0, pa.int64() if is_wide else pa.int32())
    return pa.repeat(zero.cast(field.type), rows)
