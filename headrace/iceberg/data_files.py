"""A Parquet file that Python wrote, described as the table's manifests want it.

pyiceberg leaves out the bounds of fields inside a struct, whatever the table's properties ask
for. A replay finds its period by the bounds of `__metadata__`, so they are computed here.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from pyiceberg.io.pyarrow import (
    MetricModeTypes,
    MetricsMode,
    compute_statistics_plan,
    data_file_statistics_from_parquet_metadata,
    parquet_path_to_id_mapping,
)
from pyiceberg.manifest import DataFile, DataFileContent, FileFormat

from headrace.contract import TABLE_PROPERTIES

if TYPE_CHECKING:
    import pyarrow.parquet as pq
    from pyiceberg.table.metadata import TableMetadata
    from pyiceberg.typedef import Record

_COLUMN = "write.metadata.metrics.column."


def parquet_data_file(
    metadata: TableMetadata,
    location: str,
    size_bytes: int,
    footer: pq.FileMetaData,
    partition: Record,
) -> DataFile:
    """Describe a file of the table's current schema and partition spec; one partition a file."""
    schema = metadata.schema()
    plan = compute_statistics_plan(schema, metadata.properties)
    for name in TABLE_PROPERTIES:
        number = schema.find_field(name.removeprefix(_COLUMN)).field_id
        plan[number] = replace(plan[number], mode=MetricsMode(MetricModeTypes.FULL))
    found = data_file_statistics_from_parquet_metadata(
        footer, plan, parquet_path_to_id_mapping(schema)
    )
    file = DataFile.from_args(
        content=DataFileContent.DATA,
        file_path=location,
        file_format=FileFormat.PARQUET,
        partition=partition,
        file_size_in_bytes=size_bytes,
        sort_order_id=None,
        equality_ids=None,
        key_metadata=None,
        **found.to_serialized_dict(),
    )
    file.spec_id = metadata.default_spec_id
    return file
