"""`python -m benchmarks.planning`: what it takes to plan a replay of very many files.

The files are in the manifests alone, each with the bounds of fourteen columns; the workspace with
them is kept, so that a second run needs not make them again.
"""

from __future__ import annotations

import argparse
import json
import resource
import time
from pathlib import Path

from backfill.plan.period import parse_period
from backfill.plan.widening import Watermark
from backfill.run.planning import plan_of
from backfill.run.request import ReplayRequest
from benchmarks.many_files import make_wide_table
from headrace.config.load import load_workspace
from headrace.iceberg.catalog import open_catalog
from headrace.times import parse_time_us

WORKSPACE = """\
clusters: {}
catalogs:
  lake: {type: sql, uri: "sqlite:///.headrace/catalog.db", warehouse: ".headrace/warehouse"}
"""
START, END = "2026-03-01", "2036-03-01"
EVERY_US = 30_000_000
THRESHOLD_US = 900_000_000


def main() -> None:
    """Make the table where it is not there yet, plan, and print what that took."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--files", type=int, default=1_000_000)
    parser.add_argument("--folder", type=Path, default=Path(".headrace/many-files"))
    parser.add_argument("--watermark", action="store_true", help="plan one on event_ts as well")
    asked = parser.parse_args()
    asked.folder.mkdir(parents=True, exist_ok=True)
    (asked.folder / "headrace.yaml").write_text(WORKSPACE, encoding="utf-8")
    workspace = load_workspace(asked.folder)
    catalog, name = open_catalog(workspace.catalog("lake")), ("many", f"files_{asked.files}")
    if not catalog.table_exists(name):
        make_wide_table(catalog, name, asked.files, parse_time_us(START), EVERY_US)
    table = f"lake.{'.'.join(name)}"
    began_s, cpu_s = time.monotonic(), time.process_time()
    request = ReplayRequest((table,), parse_period(START, END), (), "bounded", THRESHOLD_US)
    marks = [Watermark("events", table, "event_ts", 600_000_000)] if asked.watermark else []
    plan = plan_of(workspace, request, watermarks=marks)
    figures = {
        "files": sum(source.files for source in plan.sources),
        "steps": len(plan.steps),
        "widened_by_s": [(one.widened_by_us or 0) / 1_000_000 for one in plan.watermarks],
        "wall_s": round(time.monotonic() - began_s, 1),
        "cpu_s": round(time.process_time() - cpu_s, 1),
        "peak_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
    }
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
