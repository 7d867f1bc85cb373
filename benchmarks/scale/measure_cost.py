"""What reading units of a table costs one reader on this machine."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from backfill.streams import Replay
from benchmarks.scale.simulate import MIB
from headrace.config.load import load_workspace
from headrace.iceberg.catalog import open_catalog

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from backfill.plan.units import Unit
    from backfill.read.source import LakeSource

START = datetime(2026, 1, 5, tzinfo=UTC)
NAMES = ("small", "large")
ROWS = (2_000, 200_000)
FILES = 8
HEADRACE_YAML = """\
catalogs:
  lake: {type: sql, uri: "sqlite:///catalog.db", warehouse: "warehouse"}
"""
SCHEMA = pa.schema(
    [
        ("at", pa.timestamp("us", tz="UTC")),
        ("user_id", pa.string()),
        ("session_id", pa.string()),
        ("title_id", pa.int64()),
        ("position_ms", pa.int64()),
        ("device", pa.string()),
        ("country", pa.string()),
    ]
)


def unit_and_mib_s(folder: Path, rounds: int) -> tuple[float, float]:
    """Return the seconds for a unit, and for a MiB of it: what small and large files differ by."""
    (folder / "headrace.yaml").write_text(HEADRACE_YAML, encoding="utf-8")
    workspace = load_workspace(folder)
    catalog = open_catalog(workspace.catalog("lake"))
    catalog.create_namespace("scale")
    for name, rows in zip(NAMES, ROWS, strict=True):
        table = catalog.create_table(("scale", name), SCHEMA)
        for number in range(FILES):
            table.append(_events(number, rows))
    found = []
    for name in NAMES:
        end = START + timedelta(hours=FILES)
        replay = Replay(
            [f"lake.scale.{name}"],
            START.isoformat(),
            end.isoformat(),
            max_misalignment="2h",
            time_column="at",
            workspace=folder,
        )
        read = [
            (step.sources[unit.source], unit) for step in replay.steps() for unit in step.step.units
        ]
        best_s = min(_read_s(read) for _ in range(rounds))
        found.append(
            (sum(unit.size_bytes for _, unit in read) / MIB / len(read), best_s / len(read))
        )
    (small_mib, small_s), (large_mib, large_s) = found
    mib_s = (large_s - small_s) / (large_mib - small_mib)
    return max(0.0, small_s - small_mib * mib_s), mib_s


def _read_s(units: list[tuple[LakeSource, Unit]]) -> float:
    begun = time.perf_counter()
    rows = sum(batch.num_rows for source, unit in units for batch in source.rows(unit))
    passed_s = time.perf_counter() - begun
    if rows != sum(unit.rows for _, unit in units):
        raise ValueError(f"{rows} rows were read, which are not all")
    return passed_s


def _events(number: int, rows: int) -> pa.Table:
    chance = np.random.default_rng(number)
    first_us = round(START.timestamp() * 1_000_000) + number * 3_600_000_000
    columns: Iterator[pa.Array] = iter(
        [
            pa.array(first_us + np.arange(rows) * (3_600_000_000 // rows)).cast(
                SCHEMA.field("at").type
            ),
            pa.array(chance.integers(0, 50_000, rows).astype("U")),
            pa.array(chance.integers(0, 2**40, rows).astype("U")),
            pa.array(chance.integers(0, 8_000, rows)),
            pa.array(chance.integers(0, 7_200_000, rows)),
            pa.array(np.array(["tv", "phone", "web"])[chance.integers(0, 3, rows)]),
            pa.array(np.array(["us", "br", "de", "in"])[chance.integers(0, 4, rows)]),
        ]
    )
    return pa.Table.from_arrays(list(columns), schema=SCHEMA)
