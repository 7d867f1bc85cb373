"""An application over the past on two workers: the certificate that one process gives."""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING

import pytest

from headrace.config.load import load_workspace
from headrace.iceberg.catalog import open_catalog
from tests.end_to_end.commands import run
from tests.end_to_end.spark_cluster import spark_cluster
from tests.integration.backfill.in_process import PERIOD
from tests.integration.backfill.lake_tables import Stored, make_table
from tests.short_lived import SPARK_CONF

if TYPE_CHECKING:
    from pathlib import Path

HEADRACE_YAML = """\
catalogs:
  lake: {{type: sql, uri: "sqlite:///.headrace/catalog.db", warehouse: ".headrace/warehouse"}}
spark: {{master: "{master}", conf: {{spark.driver.memory: 768m, {short_lived}}}}}
"""
MANY, FEW = 600, 60


def write_app(root: Path, master: str, name: str) -> None:
    """Write the same workspace with another master, and the application with a sink of its own."""
    (root / "headrace.yaml").write_text(
        HEADRACE_YAML.format(master=master, short_lived=SPARK_CONF), encoding="utf-8"
    )
    past = {"type": "iceberg", "catalog": "lake", "database": "replays"}
    app = {
        "kind": "app",
        "name": name,
        "sources": {
            one: {**past, "table": one, "max_misalignment_threshold": "100s"}
            for one in ("many", "few")
        },
        "transform": {
            "sql": "SELECT 'many' AS name, id FROM many UNION ALL SELECT 'few', id FROM few"
        },
        "sink": {"type": "jsonl", "path": name},
    }
    (root / f"{name}.yaml").write_text(json.dumps(app), encoding="utf-8")


def replayed(root: Path, name: str) -> tuple[dict[str, object], Counter[tuple[str, int]]]:
    """Replay it; return what the certificate says of the replay, and what came out."""
    done = run("backfill", "replay", "-c", f"{name}.yaml", *PERIOD, "-o", "json", cwd=root)
    assert done.returncode == 0, done.stderr
    rows = [
        json.loads(line)
        for file in (root / name).glob("*.jsonl")
        for line in file.read_text().splitlines()
    ]
    certificate = json.loads(done.stdout)
    # Each has a file of its own, as each has a sink of its own.
    assert certificate.pop("app")["name"] == name
    return certificate, Counter((row["name"], row["id"]) for row in rows)


@pytest.mark.long
def test_two_workers_give_the_certificate_of_one_process(tmp_path: Path) -> None:
    root = tmp_path / "ws"
    root.mkdir()
    write_app(root, "local[2]", "here")
    catalog = open_catalog(load_workspace(root).catalog("lake"))
    # Each file has times of the whole span: all are cut, and every step reads of all of them.
    many = [[Stored(0, n, float(n)) for n in range(part, MANY, 4)] for part in range(4)]
    few = [[Stored(0, n, n * 10.0) for n in range(part, FEW, 2)] for part in range(2)]
    make_table(catalog, "many", many, 50)
    make_table(catalog, "few", few, 10)
    certificate, rows = replayed(root, "here")
    assert rows == Counter([("many", n) for n in range(MANY)] + [("few", n) for n in range(FEW)])
    with spark_cluster(tmp_path, 2) as master:
        write_app(root, master, "there")
        assert replayed(root, "there") == (certificate, rows)
    told = certificate["complete"], certificate["differences"], certificate["steps"]
    assert told == (True, [], 6)
    # Both workers took part.
    assert all(list(tmp_path.glob(f"work-{number}/app-*/*/stderr")) for number in range(2))
