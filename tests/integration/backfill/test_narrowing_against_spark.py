"""Narrowed reads against Spark's own answer: random conditions, over files of all kinds.

The oracle is Spark's batch over the same table. What is read by the conditions that are seen in
the plan of a stream has to hold every row that Spark keeps; and what is not read is counted.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from pyspark.errors import PySparkException
from pyspark.sql.functions import col

from backfill.apps.narrowing import is_known
from backfill.apps.spark_source import NAME, ReplaySource
from backfill.apps.spark_task import spark_schema
from backfill.apps.used_columns import table_uses
from backfill.plan.period import parse_period
from backfill.read.enumerator import FileEnumerator
from backfill.read.source import LakeSource
from backfill.read.table_reader import FilteredRows

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from pyspark.sql import DataFrame, SparkSession

    from backfill.plan.units import Unit
    from headrace.config.workspace.workspace import Workspace

EXAMPLES: Final = 30
PERIOD: Final = parse_period("2026-03-01", "2026-03-02")
FILES, ROWS_OF_A_FILE = 4, 30
# Longer than what Iceberg keeps of a text in its bounds, which are cut short and rounded up.
LONG: Final = "0123456789abcde"
TEXTS: Final = (
    "", "a", "A", "b", "é", "ab\u0000c", "it's", "\uffff", "\U0001f600", "\U0010ffff" * 17, LONG,
    LONG + "f", LONG + "ff", LONG + "fg", LONG + "\U0001f600x", LONG + "\uffffz",
    LONG + "\ud7ffq", "2026-03-01", "1", "1.50",
)  # fmt: skip
# By column: its type, and what some of its values are, as SQL.
COLUMNS: Final = {
    "b": ("boolean", ("true", "false")),
    "n": ("int", ("-1", "0", "1", "2", "7", "2147483647", "-2147483648")),
    "m": ("bigint", ("-1", "0", "3", "2147483648", "9223372036854775807")),
    "f": ("float", ("float('NaN')", "0.0f", "-0.0f", "0.1f", "float('-Infinity')")),
    "d": ("double", ("double('NaN')", "0.0d", "-0.0d", "0.1d", "double('Infinity')")),
    "s": ("string", tuple(f"'{text}'".replace("it's", "it\\'s") for text in TEXTS)),
    "day": ("date", ("DATE'2026-02-28'", "DATE'2026-03-01'", "DATE'0001-01-01'", "DATE'9999-12-31'")),
    "at": (
        "timestamp",
        (
            "TIMESTAMP'2026-03-01 00:00:00Z'", "TIMESTAMP'2026-02-28 23:59:59.999999Z'",
            "TIMESTAMP'2026-03-01 05:00:00Z'", "TIMESTAMP'+12026-03-01 05:00:00Z'",
        ),
    ),
    "wall": (
        "timestamp_ntz",
        ("TIMESTAMP_NTZ'2026-03-01 00:00:00'", "TIMESTAMP_NTZ'2026-02-28 19:00:00'"),
    ),
    "p": ("decimal(6,2)", ("1.50BD", "0.00BD", "-2.25BD", "1BD", "9999.99BD")),
    "q": ("decimal(20,4)", ("1.5000BD", "0.0001BD", "-99999999999999.0000BD", "1BD")),
    "raw": ("binary", ("X''", "X'00'", "X'FF'", "X'61'")),
    "st.x": ("int", ("1", "2", "3")),
    "st.inner.y": ("string", ("'a'", "'b'", "'" + LONG + "ff'")),
    "late": ("string", ("'a'", "'b'")),
    "again": ("bigint", ("1", "2", "3")),
    "renamed": ("int", ("1", "2", "3")),
    "__metadata__.region": ("string", ("'eu'", "'us'")),
    "__metadata__.offset": ("bigint", ("0", "17", "100")),
}  # fmt: skip
OTHERS: Final = (
    "1", "1.5", "'1'", "'1.50'", "1e0", "2147483648", "0.001BD", "'2026-03-01'", "'a'", "null",
    "cast('a' AS char(3))", "DATE'2026-03-01'", "TIMESTAMP'2026-03-01 12:00:00'",
    "TIMESTAMP_NTZ'2026-03-01 12:00:00'", "cast(X'FF61' AS string)", "cast(X'80' AS string)",
    "double('NaN')", "n", "s", "at", "-0.0", "true",
)  # fmt: skip
SHAPES: Final = (
    "{c} = {v}", "{v} = {c}", "{c} < {v}", "{v} < {c}", "{c} <= {v}", "{c} >= {v}", "{c} > {v}",
    "{c} != {v}", "{c} <=> {v}", "{c} IN ({v}, {w})", "{c} NOT IN ({v}, {w})",
    "{c} IN ({v}, {w}, null)", "{c} NOT IN ({v}, null)", "{c} BETWEEN {v} AND {w}",
    "{c} NOT BETWEEN {v} AND {w}", "{c} IS NULL", "{c} IS NOT NULL", "coalesce({c}, {v}) = {w}",
    "nullif({c}, {v}) = {w}", "({c} = {v}) IS NOT TRUE", "({c} > {v}) = ({c} < {w})",
    "if({c} = {v}, null, true)", "CASE WHEN {c} > {v} THEN {c} = {w} ELSE true END",
    "cast({c} AS string) = {v}", "{c} LIKE 'a%'", "{c} LIKE '0123456789abcdef%'", "{c}",
    "{c} IN ({v}, {v}, {w}, {v}, {w}, {v}, {w}, {v}, {w}, {v}, {w}, {v})", "arr[0] = {v}",
    "size(arr) > 1", "mp['a'] = {v}", "exists(arr, one -> one > {v})", "isnan(d)", "st IS NOT NULL",
    "st.inner IS NULL", "{c} = {v} AND rand() < 2", "rand() < 2 AND {c} = {v}", "not {c}",
)  # fmt: skip


@st.composite
def atoms(draw: st.DrawFn) -> str:
    """One comparison of a column, mostly with what it may hold."""
    column = draw(st.sampled_from(sorted(COLUMNS)))
    own = st.sampled_from(COLUMNS[column][1])
    value, other = draw(own | own | own | st.sampled_from(OTHERS)), draw(own)
    return draw(st.sampled_from(SHAPES)).format(c=column, v=value, w=other)


CONDITIONS: Final = st.recursive(
    atoms(),
    lambda inner: (
        st.tuples(inner, inner).map(lambda two: f"({two[0]}) AND ({two[1]})")
        | st.tuples(inner, inner).map(lambda two: f"({two[0]}) OR ({two[1]})")
        | inner.map(lambda one: f"NOT ({one})")
    ),
    max_leaves=4,
)


def rows_as_sql(
    file: int, columns: Mapping[str, tuple[str, Sequence[str]]], st_as: str
) -> list[str]:
    """Return the columns of a file's rows. In a file few values are found of each, so that bounds tell."""

    def some(name: str) -> str:
        kind, values = columns[name]
        own = [values[(file + more) % len(values)] for more in range(2)]
        few = ", ".join(f"cast({value} AS {kind})" for value in [*own, *own, *own, "null"])
        return f"array({few})[pmod(hash(k, '{name}'), 7)]"

    inner = f"if(k % 5 = 0, null, named_struct('y', {some('st.inner.y')}))"
    return [
        "k",
        *(f"{some(name)} AS {name}" for name in columns if "." not in name),
        f"if(k % 6 = 0, null, {st_as.format(x=some('st.x'), inner=inner)}) AS st",
        "array(null, array(), array(1), array(1, null, 2))[k % 4] AS arr",
        "array(null, map(), map('a', 1), map('a', null, 'b', 2))[k % 4] AS mp",
        (
            "named_struct('kafka_ingestion_ts', timestamp_micros(1772323200000000 + k * 1000000),"
            " 'topic', 't', 'partition', 0, 'offset', k,"
            f" 'region', {some('__metadata__.region')}) AS __metadata__"
        ),
    ]


@dataclass
class Asked:
    """A table, and what Spark says of it."""

    name: str
    held: DataFrame
    stream: DataFrame
    workspace: Workspace
    narrowed: int = 0


NEWER: Final = ("late", "again", "renamed")
CHANGES: Final = (
    "ALTER COLUMN n TYPE bigint", "ALTER COLUMN f TYPE double", "ALTER COLUMN p TYPE decimal(12,2)",
    "RENAME COLUMN old TO renamed", "DROP COLUMN again", "ADD COLUMN again bigint",
    "ADD COLUMN late string", "ALTER COLUMN st.x TYPE bigint", "ADD COLUMN st.z int",
)  # fmt: skip
PLAIN_ST: Final = "named_struct('x', {x}, 'inner', {inner})"
WIDER_ST: Final = "named_struct('x', bigint({x}), 'inner', {inner}, 'z', 1)"


def make(
    spark: SparkSession, workspace: Workspace, name: str, version: int, *, deletes: bool
) -> Asked:
    """Write a table by Spark, half of it before columns were widened, renamed, added and replaced."""
    table = f"lake.replays.{name}"
    spark.sql("CREATE NAMESPACE IF NOT EXISTS lake.replays")
    columns = {one: held for one, held in COLUMNS.items() if one not in NEWER}
    columns |= {"again": ("string", ("'1'", "'x'")), "old": COLUMNS["renamed"]}
    kinds = ", ".join(f"{one} {kind}" for one, (kind, _) in columns.items() if "." not in one)
    spark.sql(
        f"CREATE TABLE {table} (k bigint, {kinds}, st struct<x: int, inner: struct<y: string>>,"
        " arr array<int>, mp map<string, int>, __metadata__ struct<kafka_ingestion_ts: timestamp,"
        " topic: string, partition: int, offset: bigint, region: string>) USING iceberg TBLPROPERTIES"
        f" ('format-version'='{version}', 'write.delete.mode'='merge-on-read',"
        " 'write.parquet.row-group-check-min-record-count'='5',"
        " 'write.parquet.row-group-check-max-record-count'='5', 'write.parquet.row-group-size-bytes'='1')"
    )
    struct = PLAIN_ST
    for file in range(FILES):
        if file == FILES // 2:
            for change in CHANGES:
                spark.sql(f"ALTER TABLE {table} {change}")
            columns, struct = dict(COLUMNS), WIDER_ST
        ids = spark.range(file * ROWS_OF_A_FILE, (file + 1) * ROWS_OF_A_FILE, numPartitions=1)
        rows = ids.withColumnRenamed("id", "k").selectExpr(*rows_as_sql(file, columns, struct))
        rows.writeTo(table).append()
    if deletes:
        spark.sql(f"DELETE FROM {table} WHERE k % 7 = 3")
    spark.dataSource.register(ReplaySource)
    source = LakeSource(workspace, table, PERIOD, ())
    schema = spark_schema(source.columns, source.table.properties)
    stream = spark.readStream.format(NAME).schema(schema).option("table", table).load()
    return Asked(table, spark.table(table).coalesce(1).localCheckpoint(), stream, workspace)


@pytest.fixture(scope="module")
def tables(spark: SparkSession, workspace: Workspace) -> list[Asked]:
    """Tables whose files are as they are now, or of an older schema, or have rows deleted."""
    return [
        make(spark, workspace, "against_evolved", 2, deletes=False),
        make(spark, workspace, "against_deletes", 3, deletes=True),
    ]


@pytest.fixture
def zones(spark: SparkSession) -> Iterator[None]:
    """Put the session's zone back at the end."""
    yield
    spark.conf.set("spark.sql.session.timeZone", "UTC")


@pytest.mark.usefixtures("zones")
def test_every_row_that_spark_keeps_is_read(tables: list[Asked], spark: SparkSession) -> None:
    @settings(max_examples=EXAMPLES)
    @example(where="n = 1", number=0, zone="UTC", regions=())
    @example(where="n = 1", number=1, zone="UTC", regions=())
    @given(
        where=CONDITIONS,
        number=st.sampled_from([0, 0, 1]),
        zone=st.sampled_from(["UTC", "America/New_York"]),
        regions=st.sampled_from([(), (), ("eu",)]),
    )
    def try_one(where: str, number: int, zone: str, regions: tuple[str, ...]) -> None:
        spark.conf.set("spark.sql.session.timeZone", zone)
        look_at(tables[number], where, regions)

    try_one()
    # Conditions of which nothing is taken over prove nothing.
    assert all(one.narrowed for one in tables)


def look_at(asked: Asked, where: str, regions: tuple[str, ...]) -> None:
    """Hold what is read of a table by a condition against what Spark keeps of it."""
    of_regions = (
        asked.held.where(col("__metadata__.region").isin(*regions)) if regions else asked.held
    )
    try:
        kept = {one["k"] for one in of_regions.where(where).select("k").collect()}
        used = table_uses(asked.stream.where(where).select("k")).get(asked.name)
    except PySparkException:
        # It is about types that do not go together, or asks for the number of a text that is none.
        return
    if used is None:
        return
    whole = LakeSource(asked.workspace, asked.name, PERIOD, regions)
    known = [one for one in used.conditions if is_known(one, whole.columns)]
    asked.narrowed += bool(known)
    narrow = LakeSource(asked.workspace, asked.name, PERIOD, regions, conditions=known)
    found, left_out = FileEnumerator(narrow).files(), FilteredRows()
    read = ids_of(narrow, found.units, left_out)
    assert kept <= set(read), (where, list(map(str, known)))
    assert len(read) == len(set(read))
    rows = len(ids_of(whole, FileEnumerator(whole).files().units, FilteredRows()))
    counted = len(read) + left_out.rows
    assert counted <= rows <= counted + found.rows_skipped


def ids_of(source: LakeSource, units: Iterable[Unit], left_out: FilteredRows) -> list[int]:
    return [
        one
        for unit in units
        for batch in source.rows(unit, filtered=left_out)
        for one in batch.column("k").to_pylist()
    ]
