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

from headrace.application.select import names_for_the_transform, of_kafka
from headrace.application.transform import Sources, bound_ahead, result_of
from headrace.config.load import load_app, load_workspace, nearest_workspace
from headrace.contract import with_metadata
from headrace.errors import Terminal, UsageError
from headrace.produce import ENVELOPE_KEYS
from headrace.records.ahead import arrivals, hold_back
from headrace.records.columns import Columns
from headrace.records.values import Values
from headrace.schema.arrow import for_spark, to_arrow
from headrace.schema.spark import to_spark

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

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
            f"{loaded.config.name} reads {', '.join(names)}, and there are records for"
            f" {', '.join(records) or 'nothing'}",
            "name a file of records for each source, and no other",
        )
    if joined.keys() != loaded.config.lookups.keys():
        raise UsageError(
            f"{loaded.config.name} looks up {', '.join(loaded.config.lookups) or 'nothing'}, and"
            f" there are rows for {', '.join(joined) or 'nothing'}",
            "lookups= takes a DataFrame for each lookup of the file, and no other",
        )
    frames = {name: _frame(spark, loaded, name, Path(file)) for name, file in records.items()}
    result = result_of(loaded, Sources(spark, frames | joined), home.root)
    return [row.asDict(recursive=True) for row in result.collect()]


class _Line:
    """A recorded line in place of a record of Kafka's client."""

    def __init__(self, line: str, number: int) -> None:
        whole = json.loads(line)
        envelope = isinstance(whole, dict) and "value" in whole and whole.keys() <= ENVELOPE_KEYS
        said: dict[str, Any] = whole if envelope else {"value": whole}
        value, headers = said["value"], said.get("headers") or {}
        self._value = None if value is None else _bytes(value)
        self._key = None if said.get("key") is None else _bytes(said["key"])
        self._headers = [(name, str(text).encode()) for name, text in headers.items()] or None
        self._timestamp_ms = int(said.get("timestamp", FIRST_MS + number))
        self._offset = number

    def value(self) -> bytes | None:
        return self._value

    def key(self) -> bytes | None:
        return self._key

    def headers(self) -> Sequence[tuple[str, bytes]] | None:
        return self._headers

    def timestamp(self) -> tuple[int, int]:
        return 1, self._timestamp_ms

    def offset(self) -> int:
        return self._offset


def _frame(spark: SparkSession, app: LoadedApp, name: str, file: Path) -> DataFrame:
    from pyspark.sql.types import StructType  # noqa: PLC0415 - as above

    candidate, source = of_kafka(app.config, name)
    schema = app.schemas.get(candidate)
    if schema is None:
        raise UsageError(
            f"{name} has no candidate of type kafka with a schema file",
            "recorded records are JSON, and a schema file says what they are",
        )
    values = Values(file.name, "json", schema, source.hygiene.as_rules(), None)
    columns = for_spark(to_arrow(with_metadata(schema)))
    lines = file.read_text(encoding="utf-8").splitlines()
    messages = [_Line(line, number) for number, line in enumerate(lines) if line.strip()]
    batch, _, bad = Columns(values, source.topics[0], None, columns)(messages, 0)
    if bad:
        message, broken = bad[0]
        raise Terminal(f"{file}:{message.offset() + 1}: {broken.reason}", "mend the record")
    ahead = bound_ahead(app, name)
    kept = batch if ahead is None else hold_back(batch, ahead, arrivals(batch)).batch
    shape = StructType.fromJson(to_spark(with_metadata(schema)))
    return spark.createDataFrame(pa.Table.from_batches([kept]), shape)


def _bytes(value: object) -> bytes:
    return value.encode() if isinstance(value, str) else json.dumps(value).encode()
