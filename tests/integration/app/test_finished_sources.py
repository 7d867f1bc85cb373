"""A source without rows, or whose rows have ended, holds nobody: windows close, outer joins answer."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

from backfill.apps.replay import AppReplay, AppRun, replay_app
from backfill.plan.period import parse_period
from backfill.run.options import tables_of
from backfill.run.request import ReplayRequest, new_run_id
from headrace.config.load import load_app
from headrace.signals import Drain
from headrace.times import parse_time_us
from tests.integration.backfill.lake_tables import Stored, make_table
from tests.integration.pipelines import Pipelines

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pyiceberg.catalog import Catalog
    from pyspark.sql import SparkSession

    from backfill.run.certificate import Certificate
    from headrace.config.workspace.workspace import Workspace

MINUTE_US = 60_000_000
DAY_US = parse_time_us("2026-03-01")
# What the second table is asked for is not met by a row that is blank.
BY_MINUTE = """
SELECT window.start AS minute, count(*) AS n
FROM (SELECT at FROM events UNION ALL SELECT at FROM others WHERE items IS NOT NULL OR id > 5)
GROUP BY window(at, '1 minute')
"""
ALONE = """
SELECT l.at AS minute, count(r.id) AS n FROM events l LEFT JOIN others r
ON l.id = r.id AND r.id > 5 AND r.at BETWEEN l.at AND l.at + INTERVAL 2 MINUTES
WHERE r.id IS NULL GROUP BY l.at
"""


class Crash(Exception):
    """As if the process ended here."""


@dataclass
class Two:
    """A table with an event in each of forty minutes, and one that ends earlier."""

    spark: SparkSession
    workspace: Workspace
    catalog: Catalog
    name: str

    def replay(self, query: str, others: int, run_id: str | None = None) -> Certificate:
        """Replay with so many minutes in the other table; a run by its name is gone on with."""
        app = load_app(self._written(query, others), self.workspace)
        period = parse_period("2026-03-01", "2026-03-02")
        tables = tuple(tables_of(app).values())
        request = ReplayRequest(tables, period, (), "bounded", 4 * MINUTE_US)
        run = AppRun(app, self.workspace, run_id or new_run_id())
        begun = (self.workspace.state_dir / "backfill" / run.run_id).exists()
        return replay_app(run, None if begun else request, self.spark, Drain())

    def _written(self, query: str, others: int) -> Path:
        table = {"type": "iceberg", "catalog": "lake", "database": "replays"}
        for minutes, name in ((40, "events"), (others, f"others_{others}")):
            if not self.catalog.table_exists(("replays", f"{self.name}_{name}")):
                files = [
                    [Stored(0, at, 60.0 * at) for at in range(start, min(start + 10, minutes))]
                    for start in range(0, minutes, 10)
                ]
                make_table(self.catalog, f"{self.name}_{name}", files, at="at")
        marked = {"column": "at", "delay": "1min"}
        return Pipelines(self.workspace).write(
            f"apps/{self.name}.yaml",
            {
                "kind": "app",
                "name": self.name,
                "sources": {
                    "events": {**table, "table": f"{self.name}_events"},
                    "others": {**table, "table": f"{self.name}_others_{others}"},
                },
                "transform": {"sql": query},
                "watermarks": {"events": marked, "others": marked},
                "sink": {"type": "jsonl", "path": f"out/{self.name}"},
            },
        )

    def minutes(self) -> list[int]:
        """Return the minutes that were emitted, and forget them; no batch has many of them."""
        found: list[int] = []
        for file in (self.workspace.root / "out" / self.name).glob("*.jsonl"):
            rows = [json.loads(line) for line in file.read_text().splitlines()]
            assert len(rows) <= 12
            found += [(parse_time_us(row["minute"]) - DAY_US) // MINUTE_US for row in rows]
            file.unlink()
        return sorted(found)


@pytest.fixture
def two(
    spark: SparkSession,
    workspace: Workspace,
    lake_catalog: Catalog,
    unique: Callable[[str], str],
) -> Two:
    return Two(spark, workspace, lake_catalog, unique("two"))


def test_windows_close_as_live_would_have_closed_them(two: Two) -> None:
    certificate = two.replay(BY_MINUTE, others=0)
    assert certificate.complete
    assert certificate.dropped_late == 0
    assert certificate.rows == 40
    # The newest is minute 39, and live a record may come one minute late: 37 ends at 38.
    assert two.minutes() == list(range(38))


def test_outer_joins_answer_also_after_a_crash_between_two_stages(
    two: Two, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun = []
    started = AppReplay.start

    def crash(*asked: object) -> object:
        begun.append(asked)
        if len(begun) == 2:
            raise Crash
        return started(*asked)  # type: ignore[arg-type]  # as it was given

    monkeypatch.setattr(AppReplay, "start", crash)
    run_id = new_run_id()
    with pytest.raises(Crash):
        two.replay(ALONE, 12, run_id)
    certificate = two.replay(ALONE, 12, run_id)
    assert certificate.complete
    assert certificate.rows_read == 52
    found = two.minutes()
    # Those with a partner are not among them, and none is there twice.
    assert found[:6] == list(range(6))
    assert found[6:] == list(range(12, 12 + len(found) - 6))
    assert found[-1] > 30
