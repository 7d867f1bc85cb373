"""Keys and headers in a table: landed byte for byte, kept by what else works on the table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from pyiceberg.types import BinaryType, BooleanType, StringType

from headrace.config.load import load_lake_table
from headrace.contract import QUARANTINE_EXCEPTION_MESSAGE, QUARANTINE_OFFSET
from headrace.errors import BadConfig, Terminal
from headrace.kafka.sender import KafkaRecord
from headrace.signals import Drain
from lake_writer.audit import audit
from lake_writer.maintenance import Maintenance
from lake_writer.writer import LakeWriter
from tests.integration.kept_records import (
    NULLABLE,
    RAW_SOURCE,
    SENT,
    T0_MS,
    kept_of,
    send_with_headers,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyiceberg.table import Table
    from pyspark.sql import SparkSession

    from tests.integration.pipelines import Pipelines

KEEP = {"keep": ["key", "headers"], "hygiene": {"tombstones": "keep"}}


@pytest.fixture
def name(unique: Callable[[str], str], pipelines: Pipelines) -> str:
    chosen = unique("kept")
    pipelines.make_topic(chosen, 2)
    return chosen


def stored(spark: SparkSession, name: str) -> list[dict[str, Any]]:
    rows = spark.table(f"lake.tv.{name}").orderBy("__metadata__.partition", "__metadata__.offset")
    return [row.asDict(recursive=True) for row in rows.collect()]


def test_a_record_lands_with_its_key_and_headers(
    spark: SparkSession,
    pipelines: Pipelines,
    name: str,
    load: Callable[[], Table],
) -> None:
    pipelines.send(name, SENT)
    path = pipelines.table(name, name, NULLABLE, **KEEP)
    assert pipelines.land(spark, path).rows == len(SENT)
    columns = [field.name for field in load().schema().fields]
    assert columns == ["id", "kind", "__metadata__", "__record__"]
    wanted = [kept_of(one) for one in sorted(SENT, key=lambda one: one.partition)]
    assert [row["__record__"] for row in stored(spark, name)] == wanted
    # What a manifest says of a column, everybody who plans a query gets to see.
    schema = load().schema()
    fields = {
        one: (
            schema.find_field(f"__record__.{one}").required,
            schema.find_type(f"__record__.{one}"),
        )
        for one in ("key", "tombstone", "headers.element.name", "headers.element.value")
    }
    assert fields == {
        "key": (False, BinaryType()),
        "tombstone": (False, BooleanType()),
        "headers.element.name": (True, StringType()),
        "headers.element.value": (False, BinaryType()),
    }
    assert_no_bounds(load())
    assert load().properties["headrace.value-format"] == "json"
    loaded = load_lake_table(path, pipelines.workspace)
    assert audit(pipelines.workspace, loaded).ok
    # Started again, it finds nothing to change.
    before = load().metadata_location
    LakeWriter(pipelines.workspace, loaded).prepare()
    assert load().metadata_location == before


def assert_no_bounds(table: Table) -> None:
    schema = table.schema()
    hidden = {
        schema.find_field(one).field_id
        for one in schema.column_names
        if one.startswith("__record__")
    }
    assert len(hidden) == 7
    for task in table.scan().plan_files():
        told = {*(task.file.lower_bounds or {}), *(task.file.upper_bounds or {})}
        assert told
        assert not told & hidden


def test_it_is_kept_from_when_the_file_says_so_until_it_no_longer_does(
    spark: SparkSession,
    pipelines: Pipelines,
    name: str,
    load: Callable[[], Table],
) -> None:
    def land(number: int, **more: object) -> None:
        pipelines.send(name, [KafkaRecord(b'{"id": %d}' % number, b"k", [("h", b"v")], T0_MS)])
        pipelines.land(spark, pipelines.table(name, name, NULLABLE, **more))

    land(1)
    property_before = load().properties["headrace.avro-schema"]
    land(2, keep=["key"])
    land(3, keep=["headers", "key"], schema_evolution="widen")
    assert load().properties["headrace.avro-schema"] == property_before
    # Another field comes meanwhile, and the column is neither dropped nor asked to be anything.
    wider = {**NULLABLE, "fields": [*NULLABLE["fields"], {"name": "at", "type": ["null", "long"]}]}
    pipelines.send(name, [KafkaRecord(b'{"id": 4, "at": 5}', b"k", [("h", b"v")], T0_MS)])
    path = pipelines.table(name, name, wider, schema_evolution="widen", keep=["headers"])
    pipelines.land(spark, path)
    pipelines.send(name, [KafkaRecord(b'{"id": 5, "at": 5}', b"k", [("h", b"v")], T0_MS)])
    pipelines.land(spark, pipelines.table(name, name, wider, schema_evolution="widen"))
    headers = [{"name": "h", "value": b"v"}]
    found = {row["id"]: row["__record__"] for row in stored(spark, name)}
    assert found == {
        1: None,
        2: {"key": b"k", "tombstone": False, "headers": None},
        3: {"key": b"k", "tombstone": False, "headers": headers},
        4: {"key": None, "tombstone": None, "headers": headers},
        5: None,
    }
    kept = {name for name in load().properties if ".column.__record__" in name}
    assert kept == {
        f"write.metadata.metrics.column.__record__.{one}"
        for one in ("key", "tombstone", "headers.element.name", "headers.element.value")
    }
    # A copy of every hour of it, by Spark.
    loaded = load_lake_table(path, pipelines.workspace)
    done = Maintenance(pipelines.workspace, loaded).run(spark, Drain())
    assert done.hours_compacted == 1
    assert {row["id"]: row["__record__"] for row in stored(spark, name)} == found
    assert_no_bounds(load())
    assert audit(pipelines.workspace, loaded).ok


def test_raw_values_have_it_too(
    spark: SparkSession, pipelines: Pipelines, name: str, load: Callable[[], Table]
) -> None:
    pipelines.send(name, SENT)
    source = {**RAW_SOURCE, "topic": name}
    path = pipelines.table(name, name, keep=["headers"], source=source)
    assert pipelines.land(spark, path).rows == len(SENT)
    wanted = [
        (one.key, one.value, None if (kept := kept_of(one)) is None else kept["headers"])
        for one in sorted(SENT, key=lambda one: one.partition)
    ]
    rows = stored(spark, name)
    assert [(row["key"], row["value"], row["__record__"]["headers"]) for row in rows] == wanted
    assert load().properties["headrace.value-format"] == "raw"


def test_bad_records_between_good_ones_shift_nothing(
    spark: SparkSession, pipelines: Pipelines, name: str
) -> None:
    records = [
        KafkaRecord(b"{" if n % 3 == 1 else b'{"id": %d}' % n, b"%d" % n, [("n", b"%d" % n)], T0_MS)
        for n in range(30)
    ]
    pipelines.send(name, records)
    landed = pipelines.land(spark, pipelines.table(name, name, NULLABLE, keep=["key", "headers"]))
    assert (landed.rows, landed.quarantined) == (20, 10)
    for row in stored(spark, name):
        said = str(row["id"]).encode()
        kept = row["__record__"]
        assert (kept["key"], kept["headers"]) == (said, [{"name": "n", "value": said}])


def test_a_column_of_that_name_that_somebody_else_made_is_told_of(
    spark: SparkSession, pipelines: Pipelines, name: str, load: Callable[[], Table]
) -> None:
    pipelines.land(spark, pipelines.table(name, name, NULLABLE))
    with load().update_schema() as change:
        change.add_column("__record__", StringType())
    with pytest.raises(Terminal, match=r"already has another column __record__"):
        pipelines.land(spark, pipelines.table(name, name, NULLABLE, keep=["key"]))
    own = {**NULLABLE, "fields": [*NULLABLE["fields"], {"name": "__RECORD__", "type": "long"}]}
    with pytest.raises(BadConfig, match="the name __record__ is reserved"):
        pipelines.land(spark, pipelines.table(name, name, own, keep=["key"]))


def test_a_header_whose_name_is_no_utf_8_makes_a_bad_record(
    spark: SparkSession, pipelines: Pipelines, name: str
) -> None:
    """Kafka takes any bytes as a name, and its client reads UTF-8 alone: one record, not a stop."""
    bootstrap = pipelines.workspace.cluster("fronting").bootstrap_servers
    own = [(b"bad\xfe", b"1"), (b"trace", b"\xff"), (b"bad\xff", b"2")]
    pipelines.send(name, [KafkaRecord(b'{"id": 1}', None, [("k", b"v")], T0_MS, partition=0)])
    send_with_headers(bootstrap, name, b'{"id": 2}', own)
    pipelines.send(name, [KafkaRecord(b'{"id": 3}', None, [("k", b"v")], T0_MS, partition=0)])
    for number, keep in enumerate(([], ["headers"])):
        table = f"{name}_{number}"
        topic = f"{table}.quarantine"
        hygiene = {"quarantine": {"cluster": "fronting", "topic": topic}}
        path = pipelines.table(table, name, NULLABLE, keep=keep, hygiene=hygiene)
        landed = pipelines.land(spark, path)
        assert (landed.rows, landed.quarantined) == (2, 1)
        assert [row["id"] for row in stored(spark, table)] == [1, 3]
        (bad,) = pipelines.seen(topic, "fronting")
        # What can be known of its headers is kept, and why it is here.
        kept = (("bad\\xfe", b"1"), ("trace", b"\xff"), ("(no UTF-8)", b"2"))
        assert (bad.value, bad.headers[:3]) == (b'{"id": 2}', kept)
        reason = b"the name of a header is no UTF-8: bad\\xfe"
        assert bad.header(QUARANTINE_EXCEPTION_MESSAGE) == reason
        assert bad.header(QUARANTINE_OFFSET) == b"1"


def test_a_writer_that_stops_at_bad_records_names_the_one_with_such_a_header(
    spark: SparkSession, pipelines: Pipelines, name: str
) -> None:
    bootstrap = pipelines.workspace.cluster("fronting").bootstrap_servers
    pipelines.send(name, [KafkaRecord(b'{"id": 1}', partition=0, timestamp_ms=T0_MS)])
    send_with_headers(bootstrap, name, b'{"id": 2}', [(b"\xff", b"v")])
    path = pipelines.table(name, name, NULLABLE, hygiene={"on_bad_record": "fail"})
    with pytest.raises(Terminal, match=rf"{name}-0 @ 1: the name of a header is no UTF-8"):
        pipelines.land(spark, path)
