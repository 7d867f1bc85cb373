"""Rows shared out over a table's partitions, by Iceberg's own transforms.

pyiceberg's transforms of whole columns need a package of compiled code, and know no field inside
a struct. A column has few values as a rule, once times are cut to the hour: each of those is
transformed by itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyiceberg.transforms import TimeTransform
from pyiceberg.typedef import Record

from headrace.records.arrow import column_at

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray
    from pyiceberg.partitioning import PartitionField, PartitionSpec
    from pyiceberg.schema import Schema


class Partitioner:
    """Tells of rows which partitions of a table they belong to."""

    def __init__(self, schema: Schema, spec: PartitionSpec) -> None:
        self._parts = [_Part(schema, field) for field in spec.fields]

    def split(self, rows: pa.Table) -> Iterator[tuple[Record, pa.Table]]:
        """Yield the rows of each partition, in their order, and the partition's values."""
        found = [part.values_of(rows) for part in self._parts]
        codes = np.zeros(rows.num_rows, np.int64)
        for values, numbers in found:
            codes = codes * len(values) + numbers
        distinct, first = np.unique(codes, return_index=True)
        for code, at in zip(distinct, first, strict=True):
            record = Record(*(values[numbers[at]] for values, numbers in found))
            yield record, rows if len(distinct) == 1 else rows.take(np.flatnonzero(codes == code))


class _Part:
    """One field of a partition spec."""

    def __init__(self, schema: Schema, field: PartitionField) -> None:
        self._path = schema.find_column_name(field.source_id) or ""
        self._transform: Any = field.transform.transform(
            schema.find_field(field.source_id).field_type
        )
        self._is_time = isinstance(field.transform, TimeTransform)

    def values_of(self, rows: pa.Table) -> tuple[list[Any], NDArray[np.int64]]:
        """Return the partitions' values, and for each row the number of its own."""
        column = column_at(rows, self._path)
        if pa.types.is_timestamp(column.type):
            column = column.cast(pa.int64())
            if self._is_time:
                # Year, month, day and hour all are functions of the hour.
                hours = pc.floor_temporal(column.cast(pa.timestamp("us")), unit="hour")
                column = hours.cast(pa.int64())
        elif pa.types.is_date(column.type):
            column = column.cast(pa.int32())
        encoded = pc.dictionary_encode(column, null_encoding="encode").combine_chunks()
        partitions: dict[Any, int] = {}
        number_of = [
            partitions.setdefault(self._transform(one), len(partitions))
            for one in encoded.dictionary.to_pylist()
        ]
        numbers = np.array(number_of, np.int64)[encoded.indices.to_numpy()]
        return list(partitions), numbers
