"""What a batch becomes on its way to an output."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as F  # noqa: N812 - as everybody names it

from headrace import contract
from headrace.expressions.check import check_projection
from headrace.formats.decode import ERROR, RAW, barrier
from headrace.formats.encode import encode_key, encode_value, region_header, with_headers

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import Column, DataFrame

    from headrace.config.stream import Output
    from headrace.schema.model import Record


def is_good() -> Column:
    """Whether a record is what the stream's schema and hygiene ask for."""
    return F.col(ERROR).isNull()


def passes(output: Output) -> Column:
    """Whether a record is good and passes an output's filter; as in SQL, null does not."""
    if output.filter is None:
        return is_good()
    # Without the barrier a filter that is plainly false does away with the batch, counts and all.
    passing = F.coalesce(F.expr(output.filter), F.expr("false"))
    return F.when(is_good() & barrier(), passing).otherwise(F.expr("false"))


def output_records(
    decoded: DataFrame, output: Output, schema: Record | None, region: str | None
) -> DataFrame:
    """Return key, value and headers of the records of one output.

    The region goes along as a header: behind the hop, the cluster's own would be another.
    """
    items = output.project if output.project is not None else ("*",)
    projected, _ = check_projection(items, schema)
    columns = [F.expr(one.expression).alias(one.name) for one in projected]
    names = [one.name for one in projected]
    value = encode_value(names, output.sink.format)
    chosen = decoded.select(*columns, RAW)
    return chosen.select(
        encode_key(output.sink.key).alias("key"),
        value.alias("value"),
        F.concat(with_headers(_origin_headers()), region_header(region)).alias("headers"),
    )


def _origin_headers() -> Sequence[tuple[str, Column]]:
    return [
        (contract.ORIGIN_TOPIC, F.col(f"{RAW}.topic")),
        (contract.ORIGIN_PARTITION, F.col(f"{RAW}.partition").cast("string")),
        (contract.ORIGIN_OFFSET, F.col(f"{RAW}.offset").cast("string")),
        (
            contract.ORIGIN_TIMESTAMP,
            F.unix_millis(F.col(f"{RAW}.timestamp")).cast("string"),
        ),
    ]
