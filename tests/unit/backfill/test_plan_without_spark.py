"""A plan of tables needs no Spark: it is made of metadata alone."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING

from headrace.config.load import load_workspace
from headrace.iceberg.catalog import open_catalog
from tests.integration.backfill.lake_tables import Stored, make_table

if TYPE_CHECKING:
    from pathlib import Path

WORKSPACE = """\
clusters: {}
catalogs:
  lake: {type: sql, uri: "sqlite:///.headrace/catalog.db", warehouse: ".headrace/warehouse"}
"""
PROGRAM = """
import sys
from backfill.command.cli import backfill

backfill.main(sys.argv[1:], standalone_mode=False)
sys.exit(sorted({"pyspark", "py4j"} & sys.modules.keys()) or 0)
"""


def test_a_plan_of_tables_loads_no_spark(tmp_path: Path) -> None:
    (tmp_path / "headrace.yaml").write_text(WORKSPACE)
    catalog = open_catalog(load_workspace(tmp_path).catalog("lake"))
    table = make_table(catalog, "plain", [[Stored(0, number, number) for number in range(9)]])
    period = ("--start-ts", "2026-03-01", "--end-ts", "2026-03-02")
    done = subprocess.run(
        [
            *(sys.executable, "-c", PROGRAM, "plan", "--table", table),
            *(*period, "--workspace", str(tmp_path), "-o", "json"),
        ],
        check=False,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    assert (said["rows"], said["differs_from_live"]) == (9, [])
