"""An output with Spark expressions: what only Spark can evaluate.

Tasks fetch and decode as ever and hand the rows to Spark as Arrow; Spark evaluates filter and
projection, each record by itself, so that one on which they fail harms no other; tasks encode and
send what comes out. Slower than compiled expressions, and the same in everything else.
"""

from __future__ import annotations

import json
import pickle
from typing import TYPE_CHECKING, Final

from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812 - as everybody names it
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import BinaryType, StructField, StructType

from headrace.contract import METADATA
from headrace.schema.spark import from_spark
from router.plan.model import ToTopic
from router.tasks.spark_decoding import BAD, decode_batches, decoded_columns
from router.tasks.spark_sending import ANSWER, OUT, send_batches

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import DataFrame, SparkSession

    from router.plan.model import Outlet
    from router.tasks.task import Done, RoutingWork

VALUES: Final = "values"
_KEY: Final = "key"


def route_by_spark(spark: SparkSession, works: Sequence[RoutingWork]) -> list[Done]:
    """Route ranges of offsets for one output."""
    plan = works[0].plan
    (outlet,) = plan.outlets
    evaluated = decoded_rows(spark, works).withColumn(OUT, evaluate(outlet))
    kept = [name for name in evaluated.columns if name.startswith("__") and name != METADATA]
    rows = evaluated.select(*kept)
    written = from_spark(values_type(rows))
    answer = StructType([StructField(ANSWER, BinaryType())])
    done = rows.mapInArrow(send_batches(works, outlet.name, written), answer)
    return [pickle.loads(row[ANSWER]) for row in done.collect()]  # noqa: S301 - what our tasks dumped


def decoded_rows(spark: SparkSession, works: Sequence[RoutingWork]) -> DataFrame:
    """Return the decoded records of ranges of offsets; the bad ones with what is wrong."""
    tasks = spark.range(0, len(works), 1, len(works))
    columns = from_arrow_schema(decoded_columns(works[0].plan.source.schema))
    return tasks.mapInArrow(decode_batches(works), columns)


def evaluate(outlet: Outlet) -> Column:
    """Return a struct of what the output makes of a record.

    Null where an expression fails on it; its `passed` is null where the filter does not let it
    pass; else `passed` has the values and the key.
    """
    passing = F.expr("true") if outlet.filter is None else F.expr(outlet.filter)
    named = {one.name: one.expression for one in outlet.columns}
    values = F.struct(*(F.expr(text).alias(name) for name, text in named.items()))
    is_topic = isinstance(outlet.target, ToTopic)
    if is_topic and outlet.target.format == "raw":  # type: ignore[union-attr]  # as is_topic says
        values = F.struct(
            *(F.expr(text).cast("binary").alias(name) for name, text in named.items())
        )
    column = getattr(outlet.target, "key_column", None)
    key = F.lit(None) if column is None else F.expr(named[column])
    both = F.struct(values.alias(VALUES), key.cast("string").cast("binary").alias(_KEY))
    passed = F.when(F.col(BAD).isNull() & F.coalesce(passing, F.lit(False)), both)
    return tried(F.struct(passed.alias("passed")))


def tried(column: Column) -> Column:
    """Return a column that is null where its evaluation fails, instead of ending the query."""
    from pyspark import SparkContext  # noqa: PLC0415 - the session runs by now
    from pyspark.sql.classic.column import Column as ClassicColumn  # noqa: PLC0415 - as above

    jvm = SparkContext._active_spark_context._jvm  # type: ignore[union-attr]  # noqa: SLF001 - Spark has the expression, and no function for it
    bridge = jvm.org.apache.spark.sql.classic.ExpressionUtils  # type: ignore[union-attr]
    expression = bridge.expression(column._jc)  # noqa: SLF001 - as above
    tried_one = jvm.org.apache.spark.sql.catalyst.expressions.TryEval(expression)  # type: ignore[union-attr]
    return ClassicColumn(bridge.column(tried_one))


def values_type(rows: DataFrame) -> dict[str, object]:
    """Return the type that Spark found for an output's values, as its JSON has it."""
    values = rows.select(f"{OUT}.passed.{VALUES}").schema[0].dataType
    found: dict[str, object] = json.loads(values.json())
    return found
