"""From Kafka's own columns to the stream's: decoded, with `__metadata__`, mistakes named.

The one way in for every stage, so that a record looks the same wherever it is read.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pyspark.sql import functions as F  # noqa: N812 - as everybody names it
from pyspark.sql import types as T  # noqa: N812 - as above

from headrace.contract import METADATA, REGION_HEADER
from headrace.errors import Terminal
from headrace.formats.json_check import first_problem
from headrace.formats.json_types import field_value, json_struct

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

    from headrace.schema.model import Record

RAW: Final = "__raw__"
ERROR: Final = "__error__"
_WHOLE: Final = "__whole__"
_PARSED: Final = "__parsed__"
_ONE: Final = "__one__"
_END: Final = "__end__"
_CORRUPT: Final = "__corrupt__"


def decode(kafka: DataFrame, schema: Record | None, form: str, region: str | None) -> DataFrame:
    """Return the stream's columns, `__metadata__`, `__raw__` as it came, and `__error__`.

    `__error__` says in a sentence why a record is none of this schema's; null in a good one.
    """
    raw = kafka.select(
        F.struct("key", "value", "headers", "topic", "partition", "offset", "timestamp").alias(RAW)
    )
    metadata = metadata_column(region).alias(METADATA)
    if form == "raw":
        good = F.lit(None).cast("string").alias(ERROR)
        return raw.select(f"{RAW}.key", f"{RAW}.value", metadata, RAW, good)
    if form != "json" or schema is None:
        raise Terminal(f"values of format {form} are not read here", "json and raw are")
    whole = raw.withColumn(_WHOLE, _parse_json(schema))
    parsed = whole.withColumn(_PARSED, F.get(F.col(_WHOLE)[_ONE], F.lit(0)))
    columns = [field_value(F.col(_PARSED)[f.name], f).alias(f.name) for f in schema.fields]
    # A filter on this column would otherwise move below, and parse a text once for each check.
    error = F.when(barrier(), _error(schema)).alias(ERROR)
    return parsed.select(*columns, metadata, RAW, error)


def barrier() -> Column:
    """Return what is always true, unknown to the optimiser.

    What depends on it is computed once and where it stands; no filter moves past it.
    """
    return F.spark_partition_id() >= 0


def metadata_column(region: str | None) -> Column:
    """Return the metadata struct of a record as Kafka gave it."""
    in_header = F.filter(f"{RAW}.headers", lambda header: header["key"] == F.lit(REGION_HEADER))
    named = F.get(in_header, F.lit(0))["value"].cast("string")
    return F.struct(
        F.col(f"{RAW}.timestamp").alias("kafka_ingestion_ts"),
        F.col(f"{RAW}.topic").alias("topic"),
        F.col(f"{RAW}.partition").alias("partition"),
        F.col(f"{RAW}.offset").alias("offset"),
        F.coalesce(named, F.lit(region).cast("string")).alias("region"),
    )


def _parse_json(schema: Record) -> Column:
    whole = T.StructType(
        [
            T.StructField(_ONE, T.ArrayType(json_struct(schema))),
            T.StructField(_END, T.BooleanType()),
            T.StructField(_CORRUPT, T.StringType()),
        ]
    )
    options = {
        "mode": "PERMISSIVE",
        "columnNameOfCorruptRecord": _CORRUPT,
        "allowSingleQuotes": "false",
    }
    return F.from_json(_enclosed(), whole, options)


def _enclosed() -> Column:
    """Put the text into an object of ours.

    Spark reads the first value of a text and overlooks whatever follows it. In here a second
    record is a second item, and anything else is a mistake before the end that we look for.
    """
    before, after = F.lit(f'{{"{_ONE}":['), F.lit(f'],"{_END}":true}}')
    return F.concat(before, F.col(f"{RAW}.value").cast("string"), after)


def _error(schema: Record) -> Column:
    value, whole = F.col(f"{RAW}.value"), F.col(_WHOLE)
    text = value.cast("string")
    is_one = (F.size(whole[_ONE]) == 1) & whole[_END].isNotNull() & F.col(_PARSED).isNotNull()
    is_broken = whole[_CORRUPT].isNotNull()
    no_object = F.lit("not a JSON object")
    # Asked of broken texts only: to search a text costs more than to parse it.
    is_json = text.rlike(r"^[ \t\r\n]*\{") & F.try_parse_json(_enclosed()).isNotNull()
    return (
        F.when(value.isNull(), F.lit("the record has no value"))
        .when(~F.is_valid_utf8(text), F.lit("the value is not UTF-8"))
        .when(is_broken & ~is_json, no_object)
        .when(is_broken, F.lit("a field has another type than the schema says"))
        .when(~F.coalesce(is_one, F.expr("false")), no_object)
        .otherwise(first_problem(F.col(_PARSED), schema, text))
    )
