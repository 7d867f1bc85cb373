"""While a change of the schema is refused, no record loses a field that only the change has."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from headrace.landing.unfollowed import unfollowed_in, with_unfollowed
from headrace.records.json.reader import JsonReader
from headrace.schema.avro import parse_avro

if TYPE_CHECKING:
    from headrace.schema.model import Record


def inner(*fields: dict[str, Any]) -> dict[str, Any]:
    return {"type": "record", "name": "Inner", "fields": list(fields)}


def schema(*fields: dict[str, Any]) -> Record:
    return parse_avro({"type": "record", "name": "tv.E", "fields": list(fields)})


A = {"name": "a", "type": "int"}
B = {"name": "b", "type": "string"}
BEFORE = schema(
    A,
    {"name": "one", "type": ["null", inner(A)], "default": None},
    {"name": "many", "type": {"type": "array", "items": inner(A)}, "default": []},
    {"name": "by_name", "type": {"type": "map", "values": ["null", inner(A)]}, "default": {}},
)
REFUSED = schema(
    {"name": "a", "type": "string"},
    {"name": "one", "type": ["null", inner(A, B)], "default": None},
    {"name": "many", "type": {"type": "array", "items": inner(A, B)}, "default": []},
    {"name": "by_name", "type": {"type": "map", "values": ["null", inner(A, B)]}, "default": {}},
    B,
)


@pytest.mark.parametrize(
    ("value", "found"),
    [
        ({"a": 1}, None),
        ({"a": 1, "c": 2}, None),
        ({"a": 1, "b": None}, None),
        ({"a": 1, "b": "x"}, "b"),
        ({"a": 1, "one": {"a": 1}, "many": [{"a": 1}], "by_name": {"k": None}}, None),
        ({"a": 1, "one": {"a": 1, "b": "x"}}, "one.b"),
        ({"a": 1, "many": [{"a": 1}, {"a": 1, "b": "x"}]}, "many.b"),
        ({"a": 1, "by_name": {"j": None, "k": {"a": 1, "b": "x"}}}, "by_name.b"),
    ],
)
def test_a_field_that_only_the_refused_schema_has(value: object, found: str | None) -> None:
    whole = with_unfollowed(BEFORE, REFUSED)
    row = JsonReader(whole)(json.dumps(value).encode())
    assert unfollowed_in(BEFORE, whole)(row) == found
    assert row.f0 == 1


def test_where_no_field_is_new_nothing_is_found() -> None:
    other = schema({"name": "a", "type": "string"})
    assert with_unfollowed(schema(A), other) == schema(A)
    assert unfollowed_in(schema(A), schema(A))(JsonReader(schema(A))(b'{"a":1}')) is None
