"""The values of records for a topic: in the format in which the table's own topic had them."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import pyarrow as pa
import pyarrow.compute as pc

from backfill.read.batch_columns import positions_of, tombstones_of
from backfill.tables.json_columns import json_objects
from headrace.contract import RESERVED, VALUE_FORMAT, VALUE_FORMATS, own_columns
from headrace.errors import Terminal, UsageError
from headrace.iceberg.catalog import load_table
from headrace.records.arrow import arrow_schema, to_rows
from headrace.records.avro.writer import AvroWriter
from headrace.records.rows import BadRecord
from headrace.registry.client import Registry
from headrace.schema.avro import to_avro
from headrace.schema.iceberg import from_iceberg
from headrace.schema.model import Primitive, Record

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from pyiceberg.table import Table

    from backfill.read.source import LakeSource
    from headrace.config.workspace.workspace import Workspace
    from headrace.contract import ValueFormat
    from headrace.registry.address import RegistryAddress
    from headrace.secret import Secret

VALUE: Final = "value"
BYTES: Final = pa.large_binary()
NO_VALUE: Final = pa.scalar(None, BYTES)


@dataclass(frozen=True, slots=True)
class Encoding:
    """The format of each table's values, and the registry that knows Avro's schemas."""

    formats: Mapping[str, ValueFormat] = field(default_factory=dict)
    registry: Secret | None = None

    def require_registry(self, advice: str) -> None:
        """Refuse Avro without a registry."""
        tables = [name for name, form in self.formats.items() if form == "avro"]
        if tables and self.registry is None:
            raise UsageError(
                f"{', '.join(tables)} goes to Kafka as Avro, but no registry is named",
                advice,
            )


def formats_of(
    workspace: Workspace, tables: Sequence[str], asked: ValueFormat | None
) -> dict[str, ValueFormat]:
    """Return the format of each table's values: the one asked for, or that of its own topic."""
    return {name: _format_of(name, load_table(workspace, name), asked) for name in tables}


def _format_of(name: str, table: Table, asked: ValueFormat | None) -> ValueFormat:
    said = table.properties.get(VALUE_FORMAT)
    form = asked or (said if said in VALUE_FORMATS else "json")
    if form == "raw":
        value = from_iceberg(table.schema(), table.properties).field(VALUE)
        if value is None or value.type is not Primitive.BYTES:
            raise UsageError(
                f"{name} has no column {VALUE} of bytes, and format raw writes that column",
                "--format json, or avro with --registry URL",
            )
    return form


def encoder(
    source: LakeSource, topic: str, form: ValueFormat, registry: RegistryAddress | None
) -> Callable[[pa.RecordBatch], pa.Array]:
    """Return what makes the values of a table's rows, null where a record had none."""
    match form:
        case "raw":
            return lambda batch: batch.column(VALUE).cast(BYTES)
        case "avro":
            if registry is None:
                raise Terminal(f"{source.name} cannot go as Avro without a registry")
            table = from_iceberg(source.columns, source.table.properties)
            return _avro(source.name, own_columns(table), topic, registry)
        case "json":
            return _json


def _json(batch: pa.RecordBatch) -> pa.Array:
    own = [name for name in batch.schema.names if name not in RESERVED]
    return without_tombstones(batch, json_objects(batch.select(own)).cast(BYTES))


def without_tombstones(batch: pa.RecordBatch, values: pa.Array) -> pa.Array:
    """Return the values, null where the record had none."""
    gone = tombstones_of(batch)
    return values if gone is None else pc.if_else(gone, NO_VALUE, values)


def _avro(
    table: str, schema: Record, topic: str, registry: RegistryAddress
) -> Callable[[pa.RecordBatch], pa.Array]:
    """Write rows by the schema that the table has, which the registry knows from now on."""
    columns = arrow_schema(schema)
    known = Registry(registry).register(f"{topic}-value", json.dumps(to_avro(schema)))
    write = AvroWriter(schema, known)

    def values_of(batch: pa.RecordBatch) -> pa.Array:
        arrays = [batch.column(one.name).cast(one.type) for one in columns]
        rows = pa.StructArray.from_arrays(arrays, fields=list(columns), mask=tombstones_of(batch))
        values: list[bytes | None] = []
        for row in to_rows(rows, schema):
            try:
                values.append(None if row is None else write(row))
            except BadRecord as bad:
                _, partitions, offsets = positions_of(batch)
                place = f"{partitions[len(values)]} @ {offsets[len(values)]}"
                raise Terminal(
                    f"the row of partition {place} in {table} cannot be written as Avro: "
                    f"{bad.reason}",
                    "start another run with --format json",
                ) from None
        return pa.array(values, BYTES)

    return values_of
