"""One expression over the same rows in Spark and as compiled Python.

Spark's errors are caught for each row by its own TryEval, so that hundreds of expressions are
asked over hundreds of rows with few queries.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.sql import types as T  # noqa: N812 - as everybody names it
from pyspark.sql.classic.column import Column
from pyspark.sql.pandas.types import to_arrow_schema

from headrace.contract import with_metadata
from headrace.schema.model import Field, Record
from headrace.schema.spark import to_spark
from tests.integration.expressions.rows import FAILED, Rows, comparable

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pyspark.sql import DataFrame, SparkSession

    from headrace.expressions.compiled.compiler import Compiled


def frame_of(rows: Rows, spark: SparkSession) -> DataFrame:
    """Return the rows in Spark."""
    struct = T.StructType.fromJson(dict(to_spark(with_metadata(rows.schema))))
    table = pa.Table.from_pylist(rows.plain, to_arrow_schema(struct))
    # Without a cache Spark would evaluate all by its interpreter while it plans.
    return spark.createDataFrame(table, schema=struct).cache()


def in_spark(frame: DataFrame, texts: Sequence[str], chunk: int = 40) -> Iterator[list[object]]:
    """Give, for each expression, the value of each row, or FAILED."""
    for start in range(0, len(texts), chunk):
        some = texts[start : start + chunk]
        columns = [_tried(frame.sparkSession, text).alias(f"c{n}") for n, text in enumerate(some)]
        table = frame.select(*columns).toArrow()
        for name in table.column_names:
            column = table.column(name).combine_chunks()
            values = iter(_plain(column.flatten()))
            yield [
                comparable(next(values)) if there else FAILED
                for there in column.is_valid().to_pylist()
            ]


def _tried(spark: SparkSession, text: str) -> Column:
    """Return the expression in an array, which is null where it throws."""
    jvm: Any = spark._jvm  # noqa: SLF001 - Spark has no public way to an expression's error
    session: Any = spark._jsparkSession  # noqa: SLF001 - as above
    parsed = session.sessionState().sqlParser().parseExpression(f"array({text})")
    tried = jvm.org.apache.spark.sql.catalyst.expressions.TryEval(parsed)
    return Column(jvm.org.apache.spark.sql.classic.ExpressionUtils.column(tried))


def _plain(column: pa.Array) -> list[Any]:
    type_ = column.type
    if pa.types.is_timestamp(type_):
        return list(column.cast(pa.int64()).to_pylist())
    if pa.types.is_date32(type_):
        return list(column.cast(pa.int32()).to_pylist())
    return list(column.to_pylist())


def said_of(frame: DataFrame, texts: Sequence[str]) -> list[T.StructField]:
    """Return the type and nullability that Spark gives each expression."""
    named = [f"{text} AS c{number}" for number, text in enumerate(texts)]
    return list(frame.selectExpr(*named).schema.fields)


def as_field(compiled: Compiled) -> T.StructField:
    """Return what was compiled as a column of Spark."""
    record = Record("tests.Out", (Field("c", compiled.type, compiled.nullable),))
    return T.StructType.fromJson(dict(to_spark(record))).fields[0]


def disagreement(
    text: str, ours: Sequence[object], theirs: Sequence[object], rows: Rows
) -> str | None:
    """Return the first row on which the two sides differ, in words."""
    for number, (one, other) in enumerate(zip(ours, theirs, strict=True)):
        if one != other or type(one) is not type(other):
            named = {k: v for k, v in rows.plain[number].items() if k in text}
            return f"{text}: python {one!r}, Spark {other!r}, of {named!r}"
    return None
