"""Java's own Avro, which most of the others use: it is in the JVM that Spark runs in."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from headrace.records.avro.writer import AvroWriter
from headrace.records.framing import ID_END
from headrace.schema.avro import to_avro
from tests.registry_server import RegistryServer
from tests.unit.records.avro_values import evolved, held, read_with
from tests.unit.schema.strategies import records, values

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession


@pytest.fixture(scope="module")
def server() -> Iterator[RegistryServer]:
    with RegistryServer() as running:
        yield running


class JavaAvro:
    """Reads a record with its writer's schema as another, and writes it again."""

    def __init__(self, spark: SparkSession) -> None:
        jvm: Any = spark._jvm  # noqa: SLF001 - the only way to Java that pyspark has
        self._avro = jvm.org.apache.avro
        self._bytes_out = jvm.java.io.ByteArrayOutputStream

    def again(self, payload: bytes, writer: object, reader: object) -> bytes:
        written, wanted = self._schema(writer), self._schema(reader)
        decoder = self._avro.io.DecoderFactory.get().binaryDecoder(bytearray(payload), None)
        value = self._avro.generic.GenericDatumReader(written, wanted).read(None, decoder)
        out = self._bytes_out()
        # In blocks that say their length in bytes, as Avro allows and fastavro never does.
        encoder = self._avro.io.EncoderFactory.get().blockingBinaryEncoder(out, None)
        self._avro.generic.GenericDatumWriter(wanted).write(value, encoder)
        encoder.flush()
        return bytes(out.toByteArray())

    def _schema(self, schema: object) -> Any:  # noqa: ANN401 - an object of Java's
        return self._avro.Schema.Parser().parse(json.dumps(schema))


@settings(
    max_examples=60,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
@given(st.data())
def test_java_reads_what_we_write_and_we_what_java_writes(
    spark: SparkSession, server: RegistryServer, data: st.DataObject
) -> None:
    writer = data.draw(records())
    value = data.draw(values(writer))
    reader, expected = data.draw(evolved(writer, value))
    payload = AvroWriter(writer, 1)(held(writer, value))[ID_END:]
    row = held(reader, expected)
    theirs = JavaAvro(spark).again(payload, to_avro(writer), to_avro(reader))
    assert read_with(server, reader, reader, theirs) == row
    assert read_with(server, writer, reader, payload) == row
