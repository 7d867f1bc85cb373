"""From lines to records: what is sent, and which line cannot be."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.kafka.sender import KafkaRecord
from headrace.produce import BadLine, read_records

if TYPE_CHECKING:
    from pathlib import Path

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=8,
)


@pytest.fixture(scope="session")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("produce") / "records.jsonl"


def records(file: Path, content: bytes, *, envelope: bool = True) -> list[KafkaRecord]:
    file.write_bytes(content)
    return list(read_records([file], envelope=envelope))


def test_a_line_is_a_value_as_it_stands(file: Path) -> None:
    content = b'{"a": 1 }\r\n\n  \n\xff\x00\nlast'
    values = [record.value for record in records(file, content, envelope=False)]
    assert values == [b'{"a": 1 }', b"\xff\x00", b"last"]


@given(value=JSON, key=JSON, indent=st.sampled_from([None, 0, 2]))
def test_any_value_and_key_arrive_as_they_were_written(
    file: Path, value: object, key: object, indent: int | None
) -> None:
    line = json.dumps({"key": key, "value": value}, indent=indent).replace("\n", " ")
    (record,) = records(file, line.encode())
    for meant, sent in ((value, record.value), (key, record.key)):
        if meant is None:
            assert sent is None
        elif isinstance(meant, str):
            assert sent == meant.encode()
        else:
            assert sent is not None
            assert json.loads(sent) == meant
            assert sent.decode() in line


def test_a_number_keeps_every_digit_and_a_text_its_spaces(file: Path) -> None:
    value = '{"price": 12345678901234567.123456789, "big": 1e400, "x": [1.10, { }]}'
    (record,) = records(file, f'{{"value" : {value} , "timestamp":1}}'.encode())
    assert record.value == value.encode()


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ("null", ()),
        ("{}", ()),
        ('{"a":"x","b":null,"c":{"d":1}}', (("a", b"x"), ("b", None), ("c", b'{"d":1}'))),
        ('[["a","x"],["a","y"]]', (("a", b"x"), ("a", b"y"))),
    ],
)
def test_headers(file: Path, headers: str, expected: tuple[tuple[str, bytes | None], ...]) -> None:
    (record,) = records(file, f'{{"value":"v","headers":{headers}}}'.encode())
    assert record == KafkaRecord(b"v", None, expected)


@pytest.mark.parametrize(
    ("timestamp", "millis"),
    [
        ("null", None),
        ("1772323200123", 1_772_323_200_123),
        ('"2026-03-01T00:00:00.123456Z"', 1_772_323_200_123),
        ('"2026-03-01"', 1_772_323_200_000),
        (str(2**63 - 1), 2**63 - 1),
    ],
)
def test_timestamps(file: Path, timestamp: str, millis: int | None) -> None:
    (record,) = records(file, f'{{"value":null,"timestamp":{timestamp}}}'.encode())
    assert record == KafkaRecord(None, timestamp_ms=millis)


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b"{", "not JSON: Expecting property name enclosed in double quotes at column 2"),
        (b"[]", 'with --envelope, each line must be an object with "value"'),
        (b'{"key":"k"}', 'with --envelope, each line must be an object with "value"'),
        (b'{"value":1,"topic":"t","aa":1}', "the envelope has no aa; it has headers, key"),
        (b'{"value":1} {"value":2}', "Extra data"),
        (b'{"value":"\xff"}', "codec can't decode"),
        (b'{"value":"\\ud800"}', "surrogates not allowed"),
        (b'{"value":1,"headers":5}', "headers must be an object, or a list of"),
        (b'{"value":1,"headers":[["a"]]}', "headers must be an object, or a list of"),
        (
            b'{"value":1,"timestamp":1.5}',
            "timestamp must be a number of milliseconds or an ISO-8601 text",
        ),
        (
            b'{"value":1,"timestamp":true}',
            "timestamp must be a number of milliseconds or an ISO-8601 text",
        ),
        (b'{"value":1,"timestamp":"noon"}', "noon is not a time"),
        (b'{"value":1,"timestamp":0}', "not accept a timestamp at or before 1970"),
        (b'{"value":1,"timestamp":9223372036854775808}', "timestamp does not fit"),
        (b'{"value":' + b"[" * 100_000, "it is nested too deeply"),
    ],
)
def test_a_line_that_is_no_record_is_named(file: Path, line: bytes, reason: str) -> None:
    file.write_bytes(b'{"value":1}\n\n' + line + b"\n")
    read = read_records([file], envelope=True)
    assert next(iter(read)).value == b"1"
    with pytest.raises(BadLine, match=f"^{file}:3: .*{reason}") as caught:
        next(iter(read))
    assert caught.value.advice == "the lines before it were sent"


def test_of_a_file_that_is_no_json_at_all_nothing_is_said_to_be_sent(file: Path) -> None:
    with pytest.raises(BadLine, match=f"^{file}:1: not JSON: ") as caught:
        records(file, b"kind: stream\n")
    assert caught.value.advice == "nothing of this file was sent"
