"""Queries of all shapes give the same over narrowed tables as over whole ones.

What is used is seen in the plan of the query over streams; whether that is enough, Spark says over
the same rows as a batch.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyspark.sql.pandas.types import to_arrow_schema

from backfill.apps.narrowing import columns_used, is_known
from backfill.apps.spark_source import NAME, ReplaySource
from backfill.apps.spark_task import spark_schema, with_blanks
from backfill.apps.used_columns import table_uses
from backfill.plan.period import parse_period
from backfill.read.enumerator import FileEnumerator
from backfill.read.source import LakeSource
from headrace.schema.arrow import for_spark
from tests.integration.backfill.lake_tables import Stored, make_table

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pyiceberg.catalog import Catalog
    from pyspark.sql import DataFrame, SparkSession

    from backfill.apps.used_columns import TableUse
    from headrace.config.workspace.workspace import Workspace

EXAMPLES: Final = 25
PERIOD: Final = parse_period("2026-03-01", "2026-03-02")
SHAPES: Final = (
    "SELECT * FROM events a WHERE {f}",
    "SELECT count(*) AS n FROM events a WHERE {f}",
    "SELECT a.id FROM events a WHERE {f} UNION ALL SELECT b.id FROM again b WHERE {g}",
    "SELECT a.id FROM events a WHERE {f} EXCEPT SELECT b.id FROM again b WHERE {g}",
    "SELECT a.id, b.items FROM events a JOIN again b ON a.id = b.id WHERE {f} AND {g}",
    "SELECT a.id, b.id AS o FROM events a LEFT JOIN again b ON a.id = b.id AND {g} WHERE {f}",
    "SELECT a.id, b.id AS o FROM events a LEFT JOIN again b ON a.id = b.id AND {f} WHERE {g}",
    "SELECT a.id, b.id AS o FROM events a RIGHT JOIN again b ON a.id = b.id AND {f} AND {g}",
    "SELECT a.id, b.id AS o FROM events a FULL JOIN again b ON a.id = b.id AND {f} WHERE {g}",
    "SELECT a.id FROM events a LEFT SEMI JOIN again b ON a.id = b.id AND {g} WHERE {f}",
    "SELECT a.id FROM events a LEFT ANTI JOIN again b ON a.id = b.id AND {g} WHERE {f}",
    "SELECT id % 3 AS g, count(*) AS n, max(get(items, 0).sku) AS s FROM events a WHERE {f} GROUP BY 1",
    "SELECT * FROM (SELECT id % 3 AS g, max(id) AS id FROM events GROUP BY 1) a WHERE a.id > 60",
    "SELECT DISTINCT items, __metadata__.region FROM events a WHERE {f}",
    "SELECT id, sku FROM (SELECT id, explode(items.sku) AS sku FROM events a WHERE {f})",
    "SELECT id, item FROM events a LATERAL VIEW OUTER explode(items) AS item WHERE {f}",
    "SELECT * FROM (SELECT *, rank() OVER (ORDER BY id) AS n FROM events) a WHERE {f} AND n < 99",
    "SELECT window.start, count(*) AS n FROM events a WHERE {f} GROUP BY window(at, '3 minutes')",
    "SELECT count(*) AS n FROM events a WHERE {f} GROUP BY session_window(at, '2 minutes')",
    "WITH t AS (SELECT * FROM events a WHERE {f}) SELECT x.id FROM t x JOIN t y ON x.id = y.id + 1",
    "WITH t AS (SELECT *, id + 1 AS id2 FROM events) SELECT a.id2 FROM t a WHERE {f} AND a.id2 = 71",
    "SELECT CASE WHEN {f} THEN 1 ELSE 2 END AS c, count(*) AS n FROM events a GROUP BY 1",
    "SELECT count(*) FILTER (WHERE {f}) AS n, count(DISTINCT items) AS m FROM events a",
)  # fmt: skip
CONDITIONS: Final = (
    "{c}.id > 60", "70 >= {c}.id", "{c}.id IN (3, 61, 70, 149)", "NOT ({c}.id <= 60)", "{c}.id != 61",
    "{c}.id <=> 70", "coalesce({c}.id, 0) > 60", "{c}.id IS NULL", "({c}.id > 60 OR {c}.id < 3)",
    "{c}.__metadata__.region = 'eu'", "{c}.__metadata__.region IS NULL", "{c}.items IS NULL",
    "{c}.items IS NOT NULL", "{c}.at < TIMESTAMP'2026-03-01 00:20:00'", "{c}.id % 2 = 0",
    "({c}.__metadata__.region = 'us') IS NOT TRUE", "get({c}.items, 0).sku = 's70'", "true",
    "{c}.__metadata__.offset BETWEEN 55 AND 105", "date({c}.at) = DATE'2026-03-01'",
)  # fmt: skip
REGIONS: Final = ("eu", "us", None)


@dataclass
class Shaped:
    """A table, under two names, as streams and as a batch."""

    spark: SparkSession
    workspace: Workspace
    table: str

    def __post_init__(self) -> None:
        self.spark.dataSource.register(ReplaySource)
        whole = LakeSource(self.workspace, self.table, PERIOD, ())
        self.schema = spark_schema(whole.columns, whole.table.properties)
        self.promised = to_arrow_schema(self.schema)
        reader = self.spark.readStream.format(NAME).schema(self.schema)
        stream = reader.option("table", self.table)
        self.streams = {
            "events": stream.load().withWatermark("at", "1 minute"),
            "again": stream.load(),
        }
        self.whole = self.read(whole, None)

    def read(self, source: LakeSource, columns: tuple[str, ...] | None) -> DataFrame:
        """Read a table as a task of a replay reads it, as a batch."""
        given = [
            with_blanks(
                batch.cast(for_spark(batch.schema)),
                self.promised,
                self.promised.names if columns is None else columns,
            )
            for unit in FileEnumerator(source).files().units
            for batch in source.rows(unit)
        ]
        # The same, with the word on what may not be null.
        batches = [
            pa.RecordBatch.from_arrays(batch.columns, schema=self.promised) for batch in given
        ]
        return self.spark.createDataFrame(
            pa.Table.from_batches(batches, self.promised), self.schema
        )

    def narrowed(self, used: TableUse) -> DataFrame:
        names = columns_used({self.table: used}).get(self.table)
        read = None if names is None else tuple(one for one in self.promised.names if one in names)
        schema = LakeSource(self.workspace, self.table, PERIOD, ()).columns
        known = [one for one in used.conditions if is_known(one, schema)]
        given = LakeSource(
            self.workspace,
            self.table,
            PERIOD,
            (),
            columns=read or (),
            conditions=known,
            thin=read is not None,
        )
        return self.read(given, read)

    def asked(self, query: str, frames: Mapping[str, DataFrame]) -> DataFrame:
        for name, frame in frames.items():
            frame.createOrReplaceTempView(name)
        return self.spark.sql(query)


@pytest.fixture
def shaped(
    spark: SparkSession, workspace: Workspace, lake_catalog: Catalog, unique: Callable[[str], str]
) -> Shaped:
    """A table of three files of fifty rows, in row groups of ten."""
    files = [
        [Stored(0, 50 * n + row, 60.0 * row, REGIONS[row // 10 % 3]) for row in range(50)]
        for n in range(3)
    ]
    name = make_table(lake_catalog, unique("shaped"), files, group_rows=10, at="at")
    return Shaped(spark, workspace, name)


def test_a_query_gives_the_same_over_what_is_read_for_it(shaped: Shaped) -> None:
    narrowed = []

    @settings(max_examples=EXAMPLES)
    @given(*(st.sampled_from(one) for one in (SHAPES, CONDITIONS, CONDITIONS)))
    def try_one(shape: str, first: str, second: str) -> None:
        query = shape.format(f=first.format(c="a"), g=second.format(c="b"))
        used = table_uses(shaped.asked(query, shaped.streams)).get(shaped.table)
        if used is None:
            return
        part = shaped.narrowed(used)
        narrowed.append(bool(used.conditions) or used.columns is not None)
        in_part = shaped.asked(query, {"events": part, "again": part}).toArrow().to_pylist()
        wanted = shaped.asked(query, {"events": shaped.whole, "again": shaped.whole})
        assert sorted(map(str, in_part)) == sorted(map(str, wanted.toArrow().to_pylist())), query

    try_one()
    assert sum(narrowed) > EXAMPLES // 3
