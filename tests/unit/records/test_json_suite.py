"""The cases of the JSON test suite (github.com/nst/JSONTestSuite), by themselves and in a record.

They are not part of this project: `HEADRACE_TEST_DATA` names the folder that holds them.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from headrace.records.json.reader import JsonReader
from headrace.records.rows import BadRecord
from headrace.schema.avro import parse_avro

if TYPE_CHECKING:
    from collections.abc import Collection

BESIDE = Path(__file__).parents[3].parent / "shared" / "data"
CASES = Path(os.environ.get("HEADRACE_TEST_DATA", BESIDE)) / "json-test-suite" / "test_parsing"


def reader(name: str, kind: object, coerced: Collection[str] = ()) -> JsonReader:
    """Return what reads records of one field that may be null."""
    field = {"name": name, "type": ["null", kind]}
    return JsonReader(parse_avro({"type": "record", "name": "E", "fields": [field]}), coerced)


DECIMAL = {"type": "bytes", "logicalType": "decimal", "precision": 38, "scale": 9}
READ = reader("known", "int")
KINDS = {
    "long": reader("x", "long"),
    "double": reader("x", "double"),
    "string": reader("x", "string"),
    "decimal": reader("x", DECIMAL),
    "list": reader("x", {"type": "array", "items": {"type": "array", "items": "double"}}),
    "converted long": reader("x", "long", ["x"]),
    "converted string": reader("x", "string", ["x"]),
}


@pytest.fixture(scope="module")
def cases() -> list[Path]:
    """The files of the suite."""
    if not CASES.is_dir():
        pytest.skip(f"the cases of the JSON test suite are not there: {CASES}")
    found = sorted(CASES.glob("*.json"))
    assert len(found) > 300
    return found


def test_every_case_is_a_record_or_a_bad_one(cases: list[Path]) -> None:
    wrong = [
        case.name
        for case in cases
        for told in [reason(case.read_bytes())]
        if not lands(case.name, told) and not is_no_object(case.name, told)
    ]
    assert wrong == []


def test_every_case_as_the_value_of_a_field_that_the_schema_does_not_have(
    cases: list[Path],
) -> None:
    wrong = [
        case.name
        for case in cases
        if not lands(case.name, reason(b'{"unknown":' + case.read_bytes() + b',"known":1}'))
    ]
    assert wrong == []


def test_what_is_no_json_is_refused_as_the_value_of_any_field(cases: list[Path]) -> None:
    wrong = [
        (case.name, name)
        for case in cases
        if case.name.startswith("n_")
        for name, read in KINDS.items()
        if reason(b'{"x":' + case.read_bytes() + b"}", read) is None
    ]
    assert wrong == []


def reason(value: bytes, read: JsonReader = READ) -> str | None:
    """Return why a value is no record; None where it is one."""
    try:
        row = read(value)
    except BadRecord as problem:
        return problem.reason
    assert read is not READ or row.f0 in {None, 1}
    return None


def lands(name: str, told: str | None) -> bool:
    """Whether a case is taken (y), refused with a reason (n), or either (i)."""
    return name.startswith("i_") or (told is None) == name.startswith("y_")


def is_no_object(name: str, told: str | None) -> bool:
    """Whether a case is good JSON, but no object, which a record is."""
    return name.startswith("y_") and told is not None and "expected object" in told
