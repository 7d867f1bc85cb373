from __future__ import annotations

import pytest

from headrace.schema.avro import parse_avro
from headrace.schema.model import Record
from headrace.schema.rules import SchemaRefused


def schema(kind: object, default: object) -> dict[str, object]:
    """Return a schema whose record within the record has one field of that type and default."""
    inner = {
        "type": "record",
        "name": "Inner",
        "fields": [{"name": "x", "type": kind, "default": default}],
    }
    return {"type": "record", "name": "E", "fields": [{"name": "r", "type": inner}]}


def parsed(kind: object, default: object) -> Record:
    return parse_avro(schema(kind, default))


def decimal(precision: int, scale: int = 0, size: int | None = None) -> dict[str, object]:
    stored = {"type": "bytes"} if size is None else {"type": "fixed", "name": "D", "size": size}
    return {**stored, "logicalType": "decimal", "precision": precision, "scale": scale}


NESTED = {
    "type": "record",
    "name": "Nested",
    "fields": [{"name": "a", "type": "int"}, {"name": "b", "type": "int", "default": 1}],
}


@pytest.mark.parametrize(
    ("kind", "default"),
    [
        ("long", "seven"),
        ("int", 2**31),
        ("int", None),
        ("int", 1.0),
        ("long", True),
        ("float", 1e39),
        ("double", float("nan")),
        ("boolean", 1),
        ("string", 7),
        (["string", "null"], 7),
        ("bytes", "\u0100"),
        ({"type": "enum", "name": "S", "symbols": ["a", "b"]}, "c"),
        ({"type": "fixed", "name": "F", "size": 2}, "abc"),
        ({"type": "array", "items": "long"}, [None]),
        ({"type": "map", "values": "long"}, {"a": "b"}),
        (NESTED, {"b": 2}),
        (decimal(1), "\n"),
        (decimal(1), ""),
        (decimal(5, 2), 1.5),
        (decimal(2, 0, size=2), "\u0001"),
        ({"type": "int", "logicalType": "time-millis"}, -1),
        ({"type": "int", "logicalType": "date"}, "2026-01-01"),
        ({"type": "long", "logicalType": "timestamp-micros"}, 2**62),
    ],
)
def test_a_default_that_does_not_fit_is_a_problem_of_its_field(
    kind: object, default: object
) -> None:
    with pytest.raises(SchemaRefused) as told:
        parsed(kind, default)
    (problem,) = told.value.problems
    assert problem.startswith("E.r.x: its default ")
    assert " is not a value of its type" in problem


@pytest.mark.parametrize(
    ("kind", "default"),
    [
        (["null", "int"], None),
        (["int", "null"], 7),
        (["int", "null"], None),
        (NESTED, {"a": 2}),
        ("bytes", "\u00ff"),
        (decimal(5, 2), "\u0001"),
        ({"type": "long", "logicalType": "timestamp-millis"}, 1500),
    ],
)
def test_a_default_that_fits(kind: object, default: object) -> None:
    inner = parsed(kind, default).fields[0].type
    assert isinstance(inner, Record)
    assert inner.fields[0].default is not None


def test_a_default_of_a_type_that_is_refused_is_no_further_problem() -> None:
    with pytest.raises(SchemaRefused) as told:
        parsed(["int", "string"], 5)
    assert len(told.value.problems) == 1


def test_what_a_decimals_default_looks_like_is_said() -> None:
    with pytest.raises(SchemaRefused, match=r"Avro writes bytes as a text of .u0000 to .u00ff"):
        parsed(decimal(5, 2), 0)
