"""Data files that Spark writes without a commit, the way its own compaction does.

Spark's append commits at once, and checks nothing that we could tell it. A write under a group's
id leaves its files with the driver; what becomes of them is the caller's business.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import uuid4

from pyiceberg.io import load_file_io
from pyiceberg.manifest import ManifestContent, ManifestFile

if TYPE_CHECKING:
    from collections.abc import Mapping

    from py4j.java_gateway import JavaObject  # type: ignore[import-untyped]  # it ships no types
    from pyiceberg.manifest import DataFile
    from pyspark.sql import DataFrame, SparkSession


def write_uncommitted(rows: DataFrame, table: str, options: Mapping[str, str]) -> list[DataFile]:
    """Write rows as files of the table, bounds and partitions included; commit nothing."""
    spark = rows.sparkSession
    iceberg, java_table = java_classes(spark), loaded(spark, table)
    group = str(uuid4())
    cache = iceberg.spark.SparkTableCache.get()
    coordinator = iceberg.spark.FileRewriteCoordinator.get()
    cache.add(group, java_table)
    try:
        rows.write.format("iceberg").mode("append").options(**options).save(group)
        files = coordinator.fetchNewFiles(java_table, group)
        return _carried_over(iceberg, java_table, files)
    finally:
        coordinator.clearRewrite(java_table, group)
        cache.remove(group)


def loaded(spark: SparkSession, table: str) -> JavaObject:
    """Return a table as Spark has it."""
    return java_classes(spark).spark.Spark3Util.loadIcebergTable(spark._jsparkSession, table)  # noqa: SLF001 - as below


def java_classes(spark: SparkSession) -> JavaObject:
    """Return Iceberg's packages: Spark has no Python names for them."""
    return spark._jvm.org.apache.iceberg  # type: ignore[union-attr]  # noqa: SLF001 - as the docstring says


def _carried_over(iceberg: JavaObject, java_table: JavaObject, files: JavaObject) -> list[DataFile]:
    """Carry files from the JVM to Python by the format that both write: a manifest."""
    if files.isEmpty():
        return []
    spec = java_table.spec()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "files.avro"
        writer = iceberg.ManifestFiles.write(2, spec, iceberg.Files.localOutput(str(path)), None)
        for file in files:
            writer.add(file)
        writer.close()
        manifest = ManifestFile.from_args(
            manifest_path=path.as_uri(),
            manifest_length=path.stat().st_size,
            partition_spec_id=spec.specId(),
            content=ManifestContent.DATA,
            sequence_number=0,
            min_sequence_number=0,
            # Only read back, and in no table: any id will do.
            added_snapshot_id=1,
        )
        entries = manifest.fetch_manifest_entry(load_file_io({}, path.as_uri()))
        return [entry.data_file for entry in entries]
