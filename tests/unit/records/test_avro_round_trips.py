"""Any schema, any value: read as it was written, written so that others read it."""

from __future__ import annotations

import contextlib
import io
from dataclasses import replace
from typing import TYPE_CHECKING

import fastavro
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from headrace.records.avro.writer import AvroWriter
from headrace.records.rows import BadRecord
from headrace.schema.avro import to_avro
from headrace.schema.model import Field, Primitive, Record
from tests.registry_server import RegistryServer
from tests.unit.records.avro_values import (
    conforms,
    evolved,
    framed,
    held,
    read_with,
    reader_of,
    written,
)
from tests.unit.schema.strategies import records, values

if TYPE_CHECKING:
    from collections.abc import Iterator

some = settings(
    max_examples=80,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)


@pytest.fixture(scope="module")
def server() -> Iterator[RegistryServer]:
    with RegistryServer() as running:
        yield running


@some
@given(st.data())
def test_what_fastavro_writes_is_read(server: RegistryServer, data: st.DataObject) -> None:
    schema = data.draw(records())
    value = data.draw(values(schema))
    payload = written(to_avro(schema), value)
    assert read_with(server, schema, schema, payload) == held(schema, value)


@some
@given(st.data())
def test_what_is_written_is_read_by_fastavro_and_by_us(
    server: RegistryServer, data: st.DataObject
) -> None:
    schema = data.draw(records())
    value = data.draw(values(schema))
    row = held(schema, value)
    parsed = fastavro.parse_schema(to_avro(schema))
    schema_id = server.put("s", to_avro(schema)).id
    ours = AvroWriter(schema, schema_id)(row)
    assert ours.startswith(framed(schema_id, b""))
    rest = io.BytesIO(ours[5:])
    assert held(schema, fastavro.schemaless_reader(rest, parsed, None)) == row
    assert not rest.read()
    assert reader_of(server, schema)(ours, None) == row


@some
@given(st.data())
def test_damage_is_told_or_harmless(server: RegistryServer, data: st.DataObject) -> None:
    schema = data.draw(records())
    payload = bytearray(written(to_avro(schema), data.draw(values(schema))))
    read = reader_of(server, schema)
    schema_id = server.put("s", to_avro(schema)).id
    for _ in range(20):
        damaged = data.draw(_damaged(bytes(payload)))
        with contextlib.suppress(BadRecord):
            row = read(framed(schema_id, damaged), None)
            assert conforms(schema, row, nullable=False)
            again = _written(AvroWriter(schema, schema_id), row)
            assert conforms(schema, read(again, None), nullable=False)


@some
@given(st.data())
def test_every_shorter_value_is_told(server: RegistryServer, data: st.DataObject) -> None:
    schema = data.draw(records())
    payload = written(to_avro(schema), data.draw(values(schema)))
    read = reader_of(server, schema)
    schema_id = server.put("s", to_avro(schema)).id
    for end in range(max(0, len(payload) - 40), len(payload)):
        with pytest.raises(BadRecord):
            read(framed(schema_id, payload[:end]), None)
    with pytest.raises(BadRecord, match="2 bytes follow"):
        read(framed(schema_id, payload + b"\x00\x00"), None)


@some
@given(st.data())
def test_what_a_stream_does_not_want_is_passed_over(
    server: RegistryServer, data: st.DataObject
) -> None:
    schema = data.draw(records())
    value = data.draw(values(schema))
    around = Record(
        "Around",
        (
            Field("before", Primitive.INT, nullable=False),
            Field("unwanted", schema, nullable=True),
            Field("after", Primitive.STRING, nullable=False),
        ),
    )
    narrow = replace(around, fields=(around.fields[2], around.fields[0]))
    payload = written(to_avro(around), {"before": 7, "unwanted": value, "after": "x"})
    row = read_with(server, around, narrow, payload)
    assert (row.f0, row.f1) == ("x", 7)
    with pytest.raises(BadRecord):
        read_with(server, around, narrow, payload[:-1])


@some
@given(st.data())
def test_a_schema_may_change(server: RegistryServer, data: st.DataObject) -> None:
    writer = data.draw(records(depth=1))
    value = data.draw(values(writer))
    reader, expected = data.draw(evolved(writer, value))
    payload = written(to_avro(writer), value)
    assert read_with(server, writer, reader, payload) == held(reader, expected)


def _written(write: AvroWriter, row: object) -> bytes:
    """Write what was let through: it is a value like any other."""
    try:
        return write(row)
    except BadRecord as bad:
        pytest.fail(f"read, and not written: {bad.reason}")


@st.composite
def _damaged(draw: st.DrawFn, payload: bytes) -> bytes:
    at = draw(st.integers(0, len(payload)))
    until = draw(st.integers(at, len(payload)))
    other = draw(
        st.binary(max_size=6)
        | st.sampled_from([b"\xff" * 9 + b"\x01", b"\xfe" * 4 + b"\x0f", b"\x80" * 12, b"\x01"])
    )
    return payload[:at] + other + payload[until:]
