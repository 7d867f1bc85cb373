"""Files that tasks write: partitions, sizes, order, row groups, bounds, and every type of value."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlparse
from uuid import UUID, uuid4

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.conversions import from_bytes
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.transforms import parse_transform
from pyiceberg.types import IntegerType, LongType, TimestamptzType

from headrace import contract
from headrace.contract import METADATA, with_metadata
from headrace.iceberg.append import Append, append
from headrace.iceberg.table_files import (
    FEWEST_ROWS,
    MOST_OPEN,
    MOST_ROWS,
    MOST_SPAN_US,
    TableFiles,
    TableLocation,
    location_of,
)
from headrace.records.arrow import column_maker
from headrace.records.rows import row_class
from headrace.schema.iceberg import to_iceberg
from headrace.schema.model import Array, Field, Map, Primitive, Record
from tests.unit.records.avro_values import held
from tests.unit.schema.strategies import records, values

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray
    from pyiceberg.manifest import DataFile
    from pyiceberg.table import Table

    from headrace.schema.model import Type

HOUR_US = 3_600_000_000
EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
OWN = Record(
    "tv.E",
    (
        Field("id", Primitive.LONG, nullable=False),
        Field("kind", Primitive.STRING, nullable=True),
        Field("day", Primitive.DATE, nullable=True),
    ),
)


@pytest.fixture
def catalog(tmp_path: Path) -> SqlCatalog:
    made = SqlCatalog("lake", uri=f"sqlite:///{tmp_path}/c.db", warehouse=f"file://{tmp_path}")
    made.create_namespace("tv")
    return made


def make(catalog: SqlCatalog, record: Record, *partitions: tuple[str, str]) -> Table:
    schema, own = to_iceberg(with_metadata(record))
    fields = [
        PartitionField(schema.find_field(column).field_id, 1000 + n, parse_transform(how), f"p{n}")
        for n, (how, column) in enumerate(partitions)
    ]
    properties = {"format-version": "2", **own, **contract.TABLE_PROPERTIES}
    name = ("tv", f"t{uuid4().hex}")
    return catalog.create_table(
        name, schema, partition_spec=PartitionSpec(*fields), properties=properties
    )


def rows_of(
    place: TableLocation, record: Record, rows: Sequence[Any], times_us: NDArray[np.int64]
) -> pa.Table:
    """Return rows as a task has them: offsets count up, all of one partition."""
    columns = place.columns
    own = pa.schema([one for one in columns if one.name != METADATA])
    metadata = [
        {
            "kafka_ingestion_ts": int(at),
            "topic": "e",
            "partition": 3,
            "offset": offset,
            "region": None,
        }
        for offset, at in enumerate(times_us)
    ]
    struct = pa.array(metadata, columns.field(METADATA).type)
    return pa.Table.from_arrays([*column_maker(record, own)(rows), struct], schema=columns)


def numbered(number: int) -> list[Any]:
    row = row_class(OWN)
    return [
        row(n, None if n % 7 == 0 else f"kind-{n % 5}", None if n % 11 == 0 else n % 900 - 400)
        for n in range(number)
    ]


def written(place: TableLocation, rows: pa.Table) -> list[DataFile]:
    files = TableFiles(place)
    files.write(rows)
    return files.close()


def footer(file: DataFile) -> pq.FileMetaData:
    return pq.read_metadata(urlparse(file.file_path).path)


def commit(table: Table, files: Sequence[DataFile]) -> Table:
    return append(table, Append(table.metadata.new_snapshot_id(), files, {}, {}))


def by_calendar(unit: str, at: dt.datetime) -> int:
    months = (at.year - 1970) * 12 + at.month - 1
    days = (at.date() - EPOCH.date()).days
    return {"year": at.year - 1970, "month": months, "day": days, "hour": days * 24 + at.hour}[unit]


@pytest.mark.parametrize("unit", ["year", "month", "day", "hour"])
def test_partitions_by_time(catalog: SqlCatalog, unit: str) -> None:
    table = make(catalog, OWN, (unit, contract.INGESTION_TS))
    # Before 1970, too: division rounds another way there.
    times = np.sort(np.arange(-100, 100, dtype=np.int64) * 55 * HOUR_US + 7)
    files = written(
        location_of(table, 2**27), rows_of(location_of(table, 2**27), OWN, numbered(200), times)
    )
    for file in files:
        column = pq.read_table(urlparse(file.file_path).path, partitioning=None).column(METADATA)
        found = {by_calendar(unit, one["kafka_ingestion_ts"]) for one in column.to_pylist()}
        assert found == {file.partition[0]}
    assert len({file.partition[0] for file in files}) == len(files)
    assert sum(file.record_count for file in files) == 200
    assert len(commit(table, files).scan().to_arrow()) == 200


def test_partitions_by_value(catalog: SqlCatalog) -> None:
    chosen = (("identity", "kind"), ("bucket[4]", "id"), ("truncate[100]", "id"), ("month", "day"))
    table = make(catalog, OWN, *chosen)
    place = location_of(table, 2**27)
    files = written(place, rows_of(place, OWN, numbered(300), np.arange(300)))
    for file in files:
        found = pq.read_table(urlparse(file.file_path).path, partitioning=None).to_pylist()
        assert {(one["kind"], one["id"] // 100 * 100) for one in found} == {
            (file.partition[0], file.partition[2])
        }
        months = {
            one["day"] and (one["day"].year - 1970) * 12 + one["day"].month - 1 for one in found
        }
        assert months == {file.partition[3]}
    after = commit(table, files)
    # What Iceberg itself would look for, it finds: it prunes by the very same buckets.
    for number in range(0, 300, 97):
        pruned = after.scan(row_filter=f"id == {number}").to_arrow()
        assert pruned.column("id").to_pylist() == [number]


def test_row_groups_are_bounded_and_in_order(catalog: SqlCatalog) -> None:
    table = make(catalog, OWN)
    place = location_of(table, 2**27)
    dense = np.arange(MOST_ROWS + 5_000) * 100
    sparse = dense[-1] + np.arange(1, 6_000) * 1_000_000
    times = np.concatenate([dense, sparse])
    (file,) = written(place, rows_of(place, OWN, numbered(len(times)), times))
    groups = [footer(file).row_group(n) for n in range(footer(file).num_row_groups)]
    assert len(groups) == 8
    last = dt.datetime.min.replace(tzinfo=dt.UTC)
    for group in groups:
        paths = [group.column(n).path_in_schema for n in range(group.num_columns)]
        said = group.column(paths.index(contract.INGESTION_TS)).statistics
        assert last <= said.min <= said.max
        assert group.num_rows <= MOST_ROWS
        if group.num_rows > FEWEST_ROWS:
            assert said.max - said.min <= dt.timedelta(microseconds=MOST_SPAN_US)
        last = said.max


def test_a_file_ends_at_its_target_size_or_where_the_order_would(catalog: SqlCatalog) -> None:
    table = make(catalog, OWN)
    place = location_of(table, 200_000)
    times = np.arange(6 * MOST_ROWS)
    files = written(place, rows_of(place, OWN, numbered(len(times)), times))
    assert 2 <= len(files) <= 6
    assert all(file.file_size_in_bytes > 200_000 for file in files[:-1])
    for file in files:
        assert file.file_size_in_bytes == Path(urlparse(file.file_path).path).stat().st_size
    unordered = TableFiles(location_of(table, 2**27))
    for start in (1000, 2000, 0):
        unordered.write(rows_of(place, OWN, numbered(10), np.arange(start, start + 10)))
    assert [file.record_count for file in unordered.close()] == [20, 10]


def test_hundreds_of_days_in_one_batch_are_hundreds_of_files_and_few_are_open(
    catalog: SqlCatalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = make(catalog, OWN, ("day", contract.INGESTION_TS))
    place = location_of(table, 2**27)
    files = TableFiles(place)
    descriptors = Path("/proc/self/fd")
    before, most = len(list(descriptors.iterdir())), 0
    given_new = TableFiles._new  # noqa: SLF001 - where a file is opened

    def counted(own: TableFiles, *arguments: Any) -> Any:  # noqa: ANN401 - as given
        nonlocal most
        made = given_new(own, *arguments)
        most = max(most, len(list(descriptors.iterdir())) - before)
        return made

    monkeypatch.setattr(TableFiles, "_new", counted)
    # Producers' clocks, from 1950 to 2099; every day comes back in the second half of the batch.
    days = np.linspace(-7_300, 47_000, 200, dtype=np.int64)
    for half in range(2):
        files.write(rows_of(place, OWN, numbered(200), days * 24 * HOUR_US + half))
    done = files.close()
    assert most <= MOST_OPEN + 2
    assert len({file.partition for file in done}) == 200
    assert sum(file.record_count for file in done) == 400
    assert len(commit(table, done).scan().to_arrow()) == 400


def test_bounds_in_the_manifest_whatever_the_width(catalog: SqlCatalog) -> None:
    fields = tuple(Field(f"c{n}", Primitive.INT, nullable=True) for n in range(300))
    wide = Record("tv.Wide", fields)
    table = make(catalog, wide)
    place = location_of(table, 2**27)
    rows = [row_class(wide)(*range(300)) for _ in range(10)]
    after = commit(table, written(place, rows_of(place, wide, rows, np.arange(10) * 5 + 100)))
    (task,) = after.scan().plan_files()
    schema = after.schema()
    for column, kind, low, high in (
        (contract.INGESTION_TS, TimestamptzType(), 100, 145),
        (contract.PARTITION, IntegerType(), 3, 3),
        (contract.OFFSET, LongType(), 0, 9),
    ):
        number = schema.find_field(column).field_id
        said = [bounds[number] for bounds in (task.file.lower_bounds, task.file.upper_bounds)]
        assert [int(from_bytes(kind, one)) for one in said] == [low, high]


def test_what_is_discarded_leaves_nothing(catalog: SqlCatalog) -> None:
    table = make(catalog, OWN, ("identity", "kind"))
    place = location_of(table, 1)
    files = TableFiles(place)
    files.write(rows_of(place, OWN, numbered(100), np.arange(100)))
    files.write(rows_of(place, OWN, numbered(100), np.arange(100, 200)))
    folder = Path(urlparse(table.location()).path) / "data"
    assert list(folder.rglob("*.parquet"))
    files.discard()
    assert not list(folder.rglob("*.parquet"))


def plain(kind: Type, value: Any) -> Any:  # noqa: ANN401 - anything at all
    """Return a value as a lake's reader gets it."""
    if value is None:
        return None
    if isinstance(kind, Record):
        return {field.name: plain(field.type, value[field.name]) for field in kind.fields}
    if isinstance(kind, Array):
        return [plain(kind.item, one) for one in value]
    if isinstance(kind, Map):
        return sorted((key, plain(kind.item, one)) for key, one in value.items())
    if isinstance(value, UUID):
        return str(value)
    if isinstance(value, dt.time):
        micros = ((value.hour * 60 + value.minute) * 60 + value.second) * 10**6 + value.microsecond
        return micros // 1000 if kind is Primitive.TIME_MILLIS else micros
    return value


def read(kind: Type, value: Any) -> Any:  # noqa: ANN401 - as above
    """Return what Arrow gives, with maps in order."""
    if value is None:
        return None
    if isinstance(kind, Record):
        return {field.name: read(field.type, value[field.name]) for field in kind.fields}
    if isinstance(kind, Array):
        return [read(kind.item, one) for one in value]
    if isinstance(kind, Map):
        return sorted((key, read(kind.item, one)) for key, one in value)
    if isinstance(value, dt.datetime) and value.tzinfo is not None:
        return value.astimezone(dt.UTC)
    return value


@settings(
    max_examples=25,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(st.data())
def test_every_value_comes_back_as_it_was(catalog: SqlCatalog, data: st.DataObject) -> None:
    record = data.draw(records())
    given_values: list[Any] = data.draw(st.lists(values(record), min_size=1, max_size=4))
    table = make(catalog, record)
    place = location_of(table, 2**27)
    rows = [held(record, one) for one in given_values]
    after = commit(table, written(place, rows_of(place, record, rows, np.arange(len(rows)))))
    # Not by pyiceberg, for which a null list of structs is empty: apache/iceberg-python#3833.
    (file,) = [task.file for task in after.scan().plan_files()]
    with after.io.new_input(file.file_path).open() as opened:
        found = pq.read_table(opened).drop([METADATA]).to_pylist()
    assert [repr(read(record, one)) for one in found] == [
        repr(plain(record, one)) for one in given_values
    ]
