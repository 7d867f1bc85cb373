"""A schema from samples: it reads every sample that it was made of."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.records.json.inferring import Inferred, infer, looks_like_avro
from headrace.records.json.reader import JsonReader
from headrace.schema.avro import parse_avro, to_avro


def inferred(*samples: object) -> Inferred:
    found = infer([json.dumps(one).encode() for one in samples], "plays")
    assert found is not None
    return found


def types(found: Inferred) -> dict[str, Any]:
    return {one["name"]: one["type"] for one in to_avro(found.schema)["fields"]}  # type: ignore[attr-defined]


def test_a_field_that_a_sample_lacks_may_be_null() -> None:
    found = types(inferred({"id": "a", "many": 1}, {"id": "b", "note": None}))
    assert found == {"id": "string", "many": ["null", "long"], "note": ["null", "string"]}


def test_types_are_those_of_the_values() -> None:
    found = types(
        inferred(
            {
                "a": 1,
                "b": 1.5,
                "c": True,
                "d": "x",
                "e": [1, 2],
                "f": {"g": "h"},
                "i": 2**70,
                "j": 1,
            },
            {"a": 2, "b": 2, "c": False, "d": "y", "e": [None], "f": {}, "i": 1, "j": 0.5},
        )
    )
    record = {"type": "record", "name": "plays_f"}
    assert found["f"]["name"] == record["name"]
    assert {name: kind for name, kind in found.items() if name != "f"} == {
        "a": "long",
        "b": "double",
        "c": "boolean",
        "d": "string",
        "e": {"type": "array", "items": ["null", "long"]},
        "i": "double",
        "j": "double",
    }


@pytest.mark.parametrize(
    ("name", "values", "kind"),
    [
        ("at", ["2026-03-01T00:00:00Z", "2026-03-01T00:00:00.123456+02:00"], "timestamp-micros"),
        ("text", ["2026-03-01T00:00:00Z", "2026-03-01"], None),
        ("text", ["2026-03-01T00:00:00Z", "2026-13-01T00:00:00Z"], None),
        # Without a zone nobody knows which moment it is.
        ("text", ["2026-03-01T00:00:00"], None),
        ("event_ts", [1_772_359_200_000], "timestamp-millis"),
        ("createdAt", [1_772_359_200_000], "timestamp-millis"),
        ("event_ts", [1_772_359_200_000_000], "timestamp-micros"),
        ("event_ts", [1_772_359_200_000, 1_772_359_200_000_000], None),
        ("event_ts", [1_772_359_200], None),
        ("event_ts", [1_772_359_200_000, 0], None),
        ("account", [1_772_359_200_000], None),
        ("length_ms", [1_772_359_200_000], None),
        ("format", [1_772_359_200_000], None),
    ],
)
def test_a_time_is_taken_only_where_it_is_sure(
    name: str, values: list[object], kind: str | None
) -> None:
    found = types(inferred(*({name: one} for one in values)))[name]
    assert (found["logicalType"] if isinstance(found, dict) else None) == kind


def test_what_a_schema_cannot_say_is_named() -> None:
    found = inferred(
        {"user-id": 1, "__metadata__": 2, "Name": "a", "name": "b", "mixed": 1, "empty": {}},
        {"mixed": "x", "list": [], "Name": "c"},
        {"mixed": 3, "list": None, "Name": "d"},
    )
    assert types(found) == {
        "Name": "string",
        "mixed": "long",
        "list": ["null", {"type": "array", "items": "string"}],
    }
    notes = "\n".join(found.notes)
    for said in (
        "user-id: left out",
        "__metadata__: left out: the name is reserved",
        "name: left out: another field differs only in capitals",
        "mixed: samples are integer and text: taken as integer",
        "list[]: no sample has a value",
        "empty: left out",
    ):
        assert said in notes


@pytest.mark.parametrize(
    "value",
    [b"", None, b"no json", b"[1]", b'"text"', b"{}", b"\xff", b"[" * 100_000, b"1" * 10_000],
)
def test_what_is_no_object_with_fields_gives_no_schema(value: bytes | None) -> None:
    assert infer([value], "plays") is None
    found = infer([value, b'{"id": 1}'], "plays")
    assert found is not None
    assert found.samples + found.others == 2


def test_a_deep_and_a_wide_object_are_cut() -> None:
    deep: dict[str, object] = {"id": 1}
    for _ in range(100):
        deep = {"inner": deep, "id": 1}
    found = inferred({**deep, **{f"f{number}": 1 for number in range(2_000)}})
    parse_avro(json.dumps(to_avro(found.schema)))
    assert any("nested too deep" in note for note in found.notes)
    assert any("more than 1,000 fields" in note for note in found.notes)
    assert len(found.notes) <= 50


def test_values_that_a_registry_knows_are_told() -> None:
    assert looks_like_avro(b"\0\0\0\0\x01\x02")
    assert not looks_like_avro(b'{"id": 1}')
    assert not looks_like_avro(b"\0")


NAMES = st.text(max_size=6) | st.sampled_from(["id", "Id", "event_ts", "a", "b", "__record__"])
LEAVES = (
    st.none()
    | st.booleans()
    | st.integers(-(2**80), 2**80)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=10)
    | st.just("2026-03-01T00:00:00Z")
)
VALUES = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=12,
)


@given(st.lists(st.dictionaries(NAMES, VALUES, max_size=4), min_size=1, max_size=4))
def test_a_schema_is_valid_and_reads_its_samples_unless_a_note_says_otherwise(
    samples: list[dict[str, object]],
) -> None:
    values = [json.dumps(one).encode() for one in samples]
    found = infer(values, "plays")
    if found is None:
        return
    assert parse_avro(json.dumps(to_avro(found.schema))) == found.schema
    if not any("taken as" in note for note in found.notes):
        read = JsonReader(found.schema)
        for value in values:
            read(value)
