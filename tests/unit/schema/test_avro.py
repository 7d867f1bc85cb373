from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from headrace.schema.avro import load_avro, parse_avro, to_avro
from headrace.schema.model import (
    Array,
    Decimal,
    Enumeration,
    Field,
    Fixed,
    Map,
    Primitive,
    Record,
)
from headrace.schema.rules import SchemaRefused

if TYPE_CHECKING:
    from pathlib import Path


def record(*fields: object, **attributes: object) -> dict[str, object]:
    return {"type": "record", "name": "playback", "fields": list(fields), **attributes}


def of_type(type_: object) -> dict[str, object]:
    return record({"name": "x", "type": type_})


def logical(underlying: str, name: str, /, **attributes: object) -> dict[str, object]:
    return {"type": underlying, "logicalType": name, **attributes}


def problems(schema: object) -> tuple[str, ...]:
    with pytest.raises(SchemaRefused) as refused:
        parse_avro(schema)
    return refused.value.problems


def test_a_schema_as_users_write_it() -> None:
    item = {"type": "record", "name": "Item", "fields": [{"name": "id", "type": "long"}]}
    schema = record(
        {"name": "event_id", "type": "string", "doc": "unique", "aliases": ["id"]},
        {"name": "at", "type": logical("long", "timestamp-millis")},
        {"name": "country", "type": ["null", "string"], "default": None},
        {"name": "speed", "type": ["double", "null"], "default": 1.5},
        {"name": "kind", "type": {"type": "enum", "name": "Kind", "symbols": ["start", "stop"]}},
        {"name": "items", "type": {"type": "array", "items": ["null", item]}},
        {"name": "first", "type": "Item"},
        {"name": "tags", "type": {"type": "map", "values": "string"}},
        {"name": "price", "type": logical("bytes", "decimal", precision=9, scale=2)},
        namespace="tv",
        doc="What was played.",
        aliases=["play"],
    )
    held = Record("tv.Item", (Field("id", Primitive.LONG, nullable=False),))
    expected = Record(
        "tv.playback",
        (
            Field("event_id", Primitive.STRING, nullable=False, doc="unique", aliases=("id",)),
            Field("at", Primitive.TIMESTAMP_MILLIS, nullable=False),
            Field("country", Primitive.STRING, nullable=True, default="null"),
            Field("speed", Primitive.DOUBLE, nullable=True, default="1.5", null_last=True),
            Field("kind", Enumeration("tv.Kind", ("start", "stop")), nullable=False),
            Field("items", Array(held, item_nullable=True), nullable=False),
            Field("first", held, nullable=False),
            Field("tags", Map(Primitive.STRING, item_nullable=False), nullable=False),
            Field("price", Decimal(9, 2), nullable=False),
        ),
        doc="What was played.",
        aliases=("play",),
    )
    assert parse_avro(schema) == expected
    assert parse_avro(json.dumps(schema)) == expected
    assert to_avro(expected) == schema


def test_every_problem_is_told_at_once_and_whose_schema_it_is(tmp_path: Path) -> None:
    price = {"name": "price", "type": ["string", "int"]}
    items = {"type": "array", "items": {"type": "record", "name": "Item", "fields": [price]}}
    path = tmp_path / "playback.avsc"
    schema = record({"name": "items", "type": items}, {"name": "at", "type": "strng"})
    path.write_text(json.dumps(schema))
    with pytest.raises(SchemaRefused) as refused:
        load_avro(path)
    assert refused.value.problems == (
        'playback.items[].price: a union of string and int is not supported (only ["null", X])',
        "playback.at: there is no type strng (did you mean string?)",
    )
    assert str(refused.value).startswith(f"{path}: 2 problems")


@pytest.mark.parametrize(
    ("type_", "reason"),
    [
        (
            ["null", "string", "int"],
            'a union of string and int is not supported (only ["null", X])',
        ),
        (["null"], "a union of null has no values"),
        ([], "a union of nothing has no values"),
        (["string"], "a union of one type is not supported (write the type itself)"),
        (["null", ["null", "int"]], "a union is allowed only as"),
        ("null", 'bare null is not supported (write ["null", X])'),
        ("playback", "the record playback contains itself: recursion is not supported"),
        (["null", "playback"], "the record playback contains itself: recursion is not supported"),
        ("timestamp-millis", 'write {"type": "long", "logicalType": "timestamp-millis"}'),
        (7, "a type is a name, or an object with its `type`, not 7"),
        ({"items": "int"}, "a type is a name, or an object with its `type`"),
        ({"type": "array"}, "array without `items`"),
        ({"type": "record", "name": "R"}, "a record without a list of `fields`"),
        ({"type": "record", "name": "R", "fields": []}, "a record without fields"),
        ({"type": "enum", "name": "E", "symbols": []}, "an enum without symbols"),
        ({"type": "enum", "name": "E", "symbols": ["a", "a"]}, "the enum has the symbol a twice"),
        ({"type": "enum", "name": "E", "symbols": ["a b"]}, "'a b' is not a valid enum symbol"),
        (
            {"type": "enum", "name": "E", "symbols": ["a"], "default": "b"},
            "b is not one of its symbols",
        ),
        ({"type": "enum", "symbols": ["a"]}, "enum without a `name`"),
        ({"type": "fixed", "name": "1F", "size": 3}, "'1F' is not a valid name"),
        ({"type": "fixed", "name": "F", "size": "3"}, "a fixed without `size"),
        ({"type": "fixed", "name": "F", "size": 2**31}, "at most 2,147,483,647"),
        (logical("fixed", "decimal", name="D", size=10**12, precision=5), "at most 2,147,483,647"),
        ({"type": "fixed", "name": "F", "size": True}, "a fixed without `size"),
        (
            {"type": "fixed", "name": "F", "size": 3, "aliases": ["a b"]},
            "'a b' is not a valid name",
        ),
        ({"type": "fixed", "name": "long", "size": 3}, "the name long is one of Avro's own types"),
        (logical("fixed", "duration", name="D", size=12), "months, days and milliseconds"),
        (logical("bytes", "big-decimal"), "every value has its own scale"),
        (logical("long", "timestamp-nanos"), "microseconds are the finest"),
        (logical("long", "local-timestamp-nanos"), "microseconds are the finest"),
        (logical("bytes", "decimal", precision=39), "a decimal of precision 39 is not supported"),
        (logical("bytes", "decimal", precision=3, scale=4), "between 0 and its precision 3, not 4"),
        (logical("bytes", "decimal"), "a decimal needs whole numbers"),
        (logical("fixed", "decimal", name="D", size=2, precision=5), "5 digits do not fit"),
    ],
)
def test_what_is_refused_is_named(type_: object, reason: str) -> None:
    (problem,) = problems(of_type(type_))
    assert problem.startswith("playback.x: ")
    assert reason in problem


@pytest.mark.parametrize(
    ("schema", "reason"),
    [
        ("string", "is not JSON"),
        ('"string"', "a stream's schema is a record, not string"),
        ([record({"name": "x", "type": "int"})], "a stream's schema is a record, not a union"),
        (record(), "a record without fields cannot be a column"),
        (record({"name": "x"}), "playback.x: a field without a `type`"),
        (record({"type": "int"}), "playback.0: a field is an object with a `name` and a `type`"),
        (record({"name": "a-b", "type": "int"}), "'a-b' is not a valid field name"),
        (record({"name": "__metadata__", "type": "int"}), "is reserved for headrace's own struct"),
        (record({"name": "__Metadata__", "type": "int"}), "is reserved for headrace's own struct"),
        (record({"name": "x", "type": "int", "aliases": "y"}), "`aliases` is a list of names"),
        (record({"name": "x", "type": "int", "aliases": ["1"]}), "'1' is not a valid field name"),
        (
            record({"name": "id", "type": "int"}, {"name": "ID", "type": "int"}),
            "playback: the fields id and ID differ only in case, which Spark ignores",
        ),
        (
            record({"name": "id", "type": "int"}, {"name": "id", "type": "int"}),
            "playback: there are two fields id",
        ),
        (
            record(
                {"name": "a", "type": {"type": "fixed", "name": "F", "size": 1}},
                {"name": "b", "type": {"type": "fixed", "name": "F", "size": 2}},
            ),
            "playback.b: the name F is used for two different types",
        ),
    ],
)
def test_what_is_refused_around_the_types(schema: object, reason: str) -> None:
    (problem,) = problems(schema)
    assert reason in problem


def test_a_refused_type_is_told_once_and_not_by_each_reference() -> None:
    duration = logical("fixed", "duration", name="D", size=12)
    schema = record({"name": "a", "type": duration}, {"name": "b", "type": "D"})
    assert len(problems(schema)) == 1


@pytest.mark.parametrize(
    ("type_", "means"),
    [
        (logical("long", "my-own"), Primitive.LONG),
        (logical("string", "timestamp-millis"), Primitive.STRING),
        (logical("long", "date"), Primitive.LONG),
        ({"type": {"type": "long"}}, Primitive.LONG),
        ({"type": logical("int", "date")}, Primitive.DATE),
        (logical("fixed", "uuid", name="U", size=16), Fixed("U", 16, is_uuid=True)),
        (logical("fixed", "uuid", name="U", size=8), Fixed("U", 8)),
    ],
)
def test_an_annotation_that_does_not_belong_is_ignored(type_: object, means: object) -> None:
    assert parse_avro(of_type(type_)).fields[0].type == means


def test_names_are_found_in_their_namespace_first() -> None:
    def fixed(name: str, size: int, **attributes: object) -> dict[str, object]:
        return {"type": "fixed", "name": name, "size": size, **attributes}

    schema = record(
        {"name": "a", "type": fixed("F", 1)},
        {"name": "b", "type": fixed("F", 2, namespace="other")},
        {"name": "c", "type": "F"},
        {"name": "d", "type": "other.F"},
        {"name": "e", "type": fixed("G", 3, namespace="")},
        {"name": "f", "type": "G"},
        namespace="tv",
    )
    parsed = parse_avro(schema)
    names = [field.type.name for field in parsed.fields if isinstance(field.type, Fixed)]
    assert names == ["tv.F", "other.F", "tv.F", "other.F", "G", "G"]
    assert parse_avro(to_avro(parsed)) == parsed


def test_a_name_that_cannot_be_told_from_another_is_refused() -> None:
    near, far = Fixed("tv.F", 1), Fixed("F", 2)
    types = [near, far, far]
    fields = tuple(Field(f"x{i}", type_, nullable=False) for i, type_ in enumerate(types))
    with pytest.raises(SchemaRefused, match=r"is ambiguous with tv\.F"):
        to_avro(Record("tv.playback", fields))


def test_a_file_that_is_not_there_or_no_text(tmp_path: Path) -> None:
    with pytest.raises(SchemaRefused, match="cannot be read"):
        load_avro(tmp_path / "none.avsc")
    (tmp_path / "latin.avsc").write_bytes(b"\xe9")
    with pytest.raises(SchemaRefused, match="is not UTF-8 text"):
        load_avro(tmp_path / "latin.avsc")


def test_reading_a_schema_loads_nothing_heavy() -> None:
    code = "import sys, headrace.schema.avro, headrace.schema.spark; print(*sys.modules)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not {"pyarrow", "pyspark", "pyiceberg", "pandas", "pydantic"} & set(run.stdout.split())
