"""A workspace of two streams and a table, for tests that ask no cluster."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from pathlib import Path

HEADRACE: Final = """\
clusters:
  here: {bootstrap_servers: "127.0.0.1:1"}
catalogs:
  lake: {type: sql, uri: "sqlite:///.headrace/catalog.db", warehouse: ".headrace/warehouse"}
"""
STREAM: Final = """\
kind: stream
name: NAME
source: {type: kafka, cluster: here, topic: NAME_raw, format: json, schema: schemas/event.avsc}
outputs:
  - name: starts
    filter: "kind = 'start'"
    sink: {type: kafka, cluster: here, topic: NAME_starts, format: json}
  - {name: lake, sink: {type: iceberg, catalog: lake, database: tv, table: NAME}}
"""
TABLE: Final = """\
kind: lake_table
name: plays_table
source: {type: kafka, cluster: here, topic: plays_starts, format: json, schema: schemas/event.avsc}
table: {catalog: lake, database: tv, table: starts}
"""
APP: Final = """\
kind: app
name: counts
sources:
  plays: {type: dynamic, selected: live, candidates: [live, past]}
  live: {type: kafka, cluster: here, topics: plays_starts, format: json, schema: schemas/event.avsc}
  past: {type: iceberg, catalog: lake, database: tv, table: starts}
transform: {sql: "SELECT id FROM plays"}
sink: {type: jsonl, path: out}
"""
EVENT: Final = json.dumps(
    {
        "type": "record",
        "name": "tv.Event",
        "fields": [{"name": "id", "type": "long"}, {"name": "kind", "type": "string"}],
    }
)


def stream(name: str) -> str:
    return STREAM.replace("NAME", name)


def write(root: Path, **more: str) -> Path:
    """Write the workspace, and further files by their paths."""
    files = {
        "headrace.yaml": HEADRACE,
        "schemas/event.avsc": EVENT,
        "streams/plays.yaml": stream("plays"),
        "streams/pauses.yaml": stream("pauses"),
        "tables/plays.yaml": TABLE,
        "apps/counts.yaml": APP,
        **more,
    }
    for path, text in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text, encoding="utf-8")
    return root
