"""A record that is written as a line for tests is the very same record when it is read again."""

from __future__ import annotations

import json

from hypothesis import example, given
from hypothesis import strategies as st

from headrace.kafka.sender import KafkaRecord
from headrace.produce import unwrap
from router.tap.fixture import envelope

TEXT = st.text().map(str.encode)
WRITTEN_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
).map(lambda value: json.dumps(value).encode())
ANY = st.none() | st.binary() | TEXT | WRITTEN_JSON


@given(
    value=ANY,
    key=ANY,
    headers=st.lists(st.tuples(st.text(), st.none() | TEXT), max_size=3),
    timestamp_ms=st.integers(1, 2**62),
)
@example(b'{"a": 1.10, "a": 2}', b"[1 ]", [("h", b'{"b":1}'), ("h", None)], 1)
@example(b"{NaN}", b"[NaN]", [], 1)
@example(b'{"a":\r1}', b"\xff", [], 1)
@example(b'"text"', b"null", [], 1)
@example(b"", b"", [], 1)
def test_it_comes_back_as_it_was(
    value: bytes | None,
    key: bytes | None,
    headers: list[tuple[str, bytes | None]],
    timestamp_ms: int,
) -> None:
    line = envelope(value, key, headers, timestamp_ms)
    assert len(line.splitlines()) == 1
    assert unwrap(line) == KafkaRecord(value, key, tuple(headers), timestamp_ms)


def test_json_stays_json_and_what_is_no_text_is_in_base64() -> None:
    line = json.loads(envelope(b'{"id": 1}', b"\xff", [("bad", b"\xfe"), ("good", b"x")], 7))
    assert line == {
        "value": {"id": 1},
        "key_base64": "/w==",
        "headers": [["good", "x"]],
        "timestamp": 7,
    }
