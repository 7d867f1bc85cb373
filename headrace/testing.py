"""An application's transform over recorded records: a test in seconds, without Kafka or a table.

    from headrace.testing import run_app, spark_for_tests

    with spark_for_tests() as spark:
        rows = run_app(spark, "apps/starts_by_country.yaml", {"starts": "records/starts.jsonl"})

Lookups are given as DataFrames: `lookups={"titles": spark.createDataFrame(…)}`.
The records are decoded and checked as they are live, and the transform is given them all at once:
every window closes, and nothing is late.
"""

from __future__ import annotations

import contextlib
import json
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from headrace.application.ahead_of_time import hold_back
from headrace.application.select import names_for_the_transform, of_kafka
from headrace.application.transform import Sources, bound_ahead, result_of
from headrace.config.load import load_app, load_workspace, nearest_workspace
from headrace.contract import INGESTION_TS, with_metadata
from headrace.errors import Terminal, UsageError
from headrace.kafka.message import GivenMessage, RecordPosition
from headrace.kafka.sender import KafkaRecord
from headrace.landing.record_columns import RecordColumns
from headrace.landing.topic_values import Values
from headrace.produce import ENVELOPE_KEYS, VALUE_KEYS, unwrap
from headrace.records.arrow import times_of
from headrace.schema.arrow import for_spark, to_arrow
from headrace.schema.spark import to_spark

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pyspark.sql import DataFrame, SparkSession

    from headrace.config.load import LoadedApp

FIRST_MS: Final = 1_772_323_200_000  # 2026-03-01T00:00:00Z


@contextlib.contextmanager
def spark_for_tests() -> Iterator[SparkSession]:
    """Hold a small session: one core, in UTC, with nothing left behind."""
    from pyspark.sql import SparkSession  # noqa: PLC0415 - importing it takes a second

    with tempfile.TemporaryDirectory() as folder:
        settings = {
            "spark.ui.enabled": "false",
            "spark.ui.showConsoleProgress": "false",
            "spark.sql.session.timeZone": "UTC",
            "spark.sql.shuffle.partitions": "1",
            "spark.sql.warehouse.dir": folder,
            "spark.driver.host": "127.0.0.1",
            "spark.driver.bindAddress": "127.0.0.1",
            "spark.pyspark.python": sys.executable,
            # Records of a test are few: what compiles much for later never pays.
            "spark.driver.defaultJavaOptions": "-XX:TieredStopAtLevel=1",
        }
        builder = SparkSession.builder.master("local[1]").appName("headrace-tests")
        for name, value in settings.items():
            builder = builder.config(name, value)
        spark = builder.getOrCreate()
        try:
            yield spark
        finally:
            spark.stop()


def run_app(
    spark: SparkSession,
    app: str | Path,
    records: Mapping[str, str | Path],
    workspace: str | Path | None = None,
    lookups: Mapping[str, DataFrame] | None = None,
) -> list[dict[str, Any]]:
    """Return what an application makes of recorded records, a dictionary per row.

    `records` has a JSON Lines file for each source that the transform knows; a line is a value, or
    an envelope of `key`, `value`, `headers` and `timestamp` in milliseconds, as `headrace produce`
    takes it. `lookups` has the rows of each lookup; no table is read.
    """
    path, joined = Path(app), dict(lookups or {})
    home = load_workspace(
        Path(workspace) if workspace else nearest_workspace(path.absolute().parent)
    )
    loaded = load_app(path, home)
    names = names_for_the_transform(loaded.config)
    if set(names) != set(records):
        raise UsageError(
            f"{loaded.config.name} reads {', '.join(names)}, but records were given for "
            f"{', '.join(records) or 'nothing'}",
            "name a file of records for each source, and no other",
        )
    if joined.keys() != loaded.config.lookups.keys():
        raise UsageError(
            f"{loaded.config.name} looks up {', '.join(loaded.config.lookups) or 'nothing'}, but "
            f"rows were given for {', '.join(joined) or 'nothing'}",
            "give lookups= a DataFrame for each lookup of the file, and no other",
        )
    frames = {name: _frame(spark, loaded, name, Path(file)) for name, file in records.items()}
    result = result_of(loaded, Sources(spark, frames | joined), home.root)
    return [row.asDict(recursive=True) for row in result.collect()]


def _message(topic: str, line: str, number: int) -> GivenMessage:
    """Return a recorded line as a record of Kafka's client."""
    try:
        whole = json.loads(line)
    except ValueError:
        # Told by its decoder, with what is wrong.
        whole = None
    is_object = isinstance(whole, dict)
    envelope = is_object and whole.keys() & VALUE_KEYS and whole.keys() <= ENVELOPE_KEYS
    record = unwrap(line.encode()) if envelope else KafkaRecord(line.encode())
    at_ms = FIRST_MS + number if record.timestamp_ms is None else record.timestamp_ms
    position = RecordPosition(topic, 0, number)
    return GivenMessage(position, at_ms, record.value, record.key, record.headers)


def _frame(spark: SparkSession, app: LoadedApp, name: str, file: Path) -> DataFrame:
    from pyspark.sql.types import StructType  # noqa: PLC0415 - as above

    candidate, source = of_kafka(app.config, name)
    schema = app.schemas.get(candidate)
    if schema is None:
        raise UsageError(
            f"{name} has no candidate of type kafka with a schema file",
            "recorded records are JSON, and headrace reads them by a schema file",
        )
    values = Values(file.name, "json", schema, source.hygiene.as_rules(), None)
    columns = for_spark(to_arrow(with_metadata(schema)))
    lines = file.read_text(encoding="utf-8").splitlines()
    topic = source.topics[0]
    messages = [_message(topic, line, at) for at, line in enumerate(lines) if line.strip()]
    batch, _, bad = RecordColumns(values, topic, None, columns)(messages, 0)
    if bad:
        message, broken = bad[0]
        raise Terminal(f"{file}:{message.offset() + 1}: {broken.reason}", "correct the record")
    ahead = bound_ahead(app, name)
    kept = batch if ahead is None else hold_back(batch, ahead, times_of(batch, INGESTION_TS)).batch
    shape = StructType.fromJson(to_spark(with_metadata(schema)))
    return spark.createDataFrame(pa.Table.from_batches([kept]), shape)
