"""What becomes of a table's columns when the schema of its records changes."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeAlias

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyiceberg.types import ListType, LongType, MapType, StructType

from headrace.contract import with_metadata
from headrace.iceberg.evolution import SchemaChange, evolution
from headrace.schema.avro import parse_avro
from headrace.schema.iceberg import to_iceberg
from headrace.schema.model import Field, Primitive, Record
from tests.unit.schema.strategies import records

if TYPE_CHECKING:
    from pyiceberg.types import IcebergType

    from headrace.iceberg.evolution import Evolution, Follows

NULL = "null"
Fields: TypeAlias = list[dict[str, Any]]


def record(*fields: dict[str, Any]) -> Record:
    return parse_avro({"type": "record", "name": "tv.Event", "fields": list(fields)})


def field(name: str, kind: object, **more: object) -> dict[str, Any]:
    return {"name": name, "type": kind, **more}


def inside(*fields: dict[str, Any]) -> dict[str, Any]:
    return {"type": "record", "name": "Inner", "fields": list(fields)}


def listed(item: object) -> dict[str, Any]:
    return {"type": "array", "items": item}


def mapped(value: object) -> dict[str, Any]:
    return {"type": "map", "values": value}


def decimal(precision: int, scale: int = 2) -> dict[str, Any]:
    return {"type": "bytes", "logicalType": "decimal", "precision": precision, "scale": scale}


def time_of(unit: str) -> dict[str, Any]:
    base = "int" if unit == "millis" else "long"
    return {"type": base, "logicalType": f"time-{unit}"}


def evolved(before: Record, after: Record) -> Evolution:
    held, _ = to_iceberg(with_metadata(before))
    return evolution(held, with_metadata(after), held.highest_field_id)


def ids(node: IcebergType) -> list[int]:
    """Return every id in a type, one that was given twice as often."""
    match node:
        case StructType():
            return [n for one in node.fields for n in (one.field_id, *ids(one.field_type))]
        case ListType():
            return [node.element_id, *ids(node.element_type)]
        case MapType():
            return [node.key_id, node.value_id, *ids(node.value_type)]
    return []


ID = field("id", "int")
OPTIONAL = field("new", [NULL, "string"], default=None)
ALLOWED = [
    ([ID], [ID, OPTIONAL], "add new (string)", "add_columns"),
    # Rows that are there have no value, whatever default the records have.
    ([ID], [ID, field("new", "int", default=7)], "add new (int)", "add_columns"),
    ([ID], [field("key", "int", aliases=["id"])], "rename id to key", "add_columns"),
    ([ID], [field("id", "long")], "widen id from int to long", "widen"),
    ([ID], [field("id", [NULL, "int"])], "allow null in id", "widen"),
    ([ID, OPTIONAL], [OPTIONAL], "allow null in id, which the schema no longer has", "widen"),
    ([field("f", "float")], [field("f", "double")], "widen f from float to double", "widen"),
    (
        [field("d", decimal(9))],
        [field("d", decimal(12))],
        "widen d from decimal(9, 2) to decimal(12, 2)",
        "widen",
    ),
    (
        [field("r", inside(ID))],
        [field("r", inside(ID, OPTIONAL))],
        "add r.new (string)",
        "add_columns",
    ),
    (
        [field("l", listed(inside(ID)))],
        [field("l", listed(inside(field("key", "int", aliases=["id"]))))],
        "rename l[].id to key",
        "add_columns",
    ),
    (
        [field("m", mapped(inside(ID)))],
        [field("m", mapped(inside(field("id", "long"))))],
        "widen m{}.id from int to long",
        "widen",
    ),
    (
        [field("l", listed("int"))],
        [field("l", listed([NULL, "int"]))],
        "allow null in l[]",
        "widen",
    ),
    (
        [field("m", mapped("int"))],
        [field("m", mapped([NULL, "int"]))],
        "allow null in m{}",
        "widen",
    ),
]
NOTHING = [
    ([ID], [ID]),
    # Null from now on; what is there stays.
    ([ID, OPTIONAL], [ID]),
    # What the table can hold, the records need not.
    ([field("id", "long")], [ID]),
    ([field("id", [NULL, "int"])], [ID]),
    ([field("d", decimal(12))], [field("d", decimal(9))]),
    # The same point in time, told in another unit.
    (
        [field("t", {"type": "long", "logicalType": "timestamp-millis"})],
        [field("t", {"type": "long", "logicalType": "timestamp-micros"})],
    ),
    # An alias of what is there under the field's own name, too.
    ([ID, OPTIONAL], [field("id", "int", aliases=["new"]), OPTIONAL]),
]
REFUSED = [
    ([ID], [field("id", "string")], "id is int, but the schema has string"),
    (
        [ID],
        [ID, field("new", "string")],
        "new is new and required, without a default for the records before it",
    ),
    (
        [ID],
        [ID, field("ID", [NULL, "int"])],
        "ID differs from the table's id only in case, which Spark ignores",
    ),
    ([ID], [field("id", inside(ID))], "id is int, but the schema has struct<0: id: required int>"),
    (
        [field("d", decimal(12))],
        [field("d", decimal(14, 3))],
        "d is decimal(12, 2), but the schema has decimal(14, 3)",
    ),
    (
        [field("day", {"type": "int", "logicalType": "date"})],
        [field("day", {"type": "long", "logicalType": "timestamp-micros"})],
        "day is date, but the schema has timestamptz",
    ),
    # Thousandths and millionths of a second in one column would be told apart by nobody.
    (
        [field("t", time_of("millis"))],
        [field("t", time_of("micros"))],
        "t is int, but the schema has long",
    ),
    (
        [field("t", time_of("micros"))],
        [field("t", time_of("millis"))],
        "t is long, but the schema has int",
    ),
]


@pytest.mark.parametrize(("before", "after", "change", "needs"), ALLOWED)
def test_what_a_table_can_follow(
    before: Fields, after: Fields, change: str, needs: Follows
) -> None:
    found = evolved(record(*before), record(*after))
    assert found.changes == (SchemaChange(change, needs),)
    assert found.problems == ()
    assert bool(found.beyond("add_columns")) == (needs == "widen")
    assert not found.beyond("widen")
    assert found.beyond("none")
    again = evolution(found.schema, with_metadata(record(*after)), found.schema.highest_field_id)
    assert (again.changes, again.schema) == ((), found.schema)


@pytest.mark.parametrize(("before", "after"), NOTHING)
def test_what_needs_no_change(before: Fields, after: Fields) -> None:
    found = evolved(record(*before), record(*after))
    assert (found.changes, found.problems) == ((), ())
    assert found.schema == to_iceberg(with_metadata(record(*before)))[0]


@pytest.mark.parametrize(("before", "after", "problem"), REFUSED)
def test_what_no_table_can_follow(before: Fields, after: Fields, problem: str) -> None:
    if problem.startswith("ID"):
        # Two such names are refused in one schema; the table's own may be somebody else's.
        after = after[1:]
    assert problem in evolved(record(*before), record(*after)).problems


def test_no_new_column_takes_the_name_of_a_partition() -> None:
    held, _ = to_iceberg(with_metadata(record(ID)))
    for new in (OPTIONAL, field("new", "int", aliases=["id"])):
        wanted = with_metadata(record(new))
        found = evolution(held, wanted, held.highest_field_id, {"new", "id"})
        assert found.problems == ("new is the name of a partition of the table",)


def test_a_rename_keeps_the_id_and_what_it_holds() -> None:
    before = record(ID, field("r", inside(field("a", "int"))))
    after = record(
        field("key", "long", aliases=["id"]),
        field("q", inside(field("b", "int", aliases=["a"])), aliases=["r"]),
    )
    held, _ = to_iceberg(with_metadata(before))
    found = evolved(before, after).schema
    for old, new in (("id", "key"), ("r", "q"), ("r.a", "q.b")):
        assert found.find_field(new).field_id == held.find_field(old).field_id
    assert found.find_field("key").field_type == LongType()


@settings(deadline=None)
@given(records(), records())
def test_ids_are_kept_and_none_is_given_twice(before: Record, after: Record) -> None:
    held, _ = to_iceberg(with_metadata(before))
    last = held.highest_field_id + 5
    found = evolution(held, with_metadata(after), last).schema
    kept, now = ids(held.as_struct()), ids(found.as_struct())
    assert len(now) == len(set(now))
    assert set(kept) <= set(now)
    assert all(number > last for number in set(now) - set(kept))


@settings(deadline=None)
@given(records(), st.sampled_from(list(Primitive)))
def test_the_schema_itself_changes_nothing_and_a_new_field_only_adds(
    before: Record, kind: Primitive
) -> None:
    assert evolved(before, before).changes == ()
    new = Field("brand_new", kind, nullable=True)
    found = evolved(before, replace(before, fields=(*before.fields, new)))
    assert [one.needs for one in found.changes] == ["add_columns"]
    assert found.problems == ()
