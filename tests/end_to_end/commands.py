"""Our console scripts, as a user runs them, and a workspace for them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from tests.limits import LIMIT_S
from tests.short_lived import SPARK_CONF

BIN = Path(sys.executable).parent

HEADRACE_YAML = """\
clusters:
  fronting: {{bootstrap_servers: "{bootstrap}", region: us-east-1}}
  consumer: {{bootstrap_servers: "{bootstrap}"}}
catalogs:
  lake: {{type: sql, uri: "sqlite:///.headrace/catalog.db", warehouse: ".headrace/warehouse"}}
spark: {{master: "{master}", conf: {{spark.driver.memory: 768m, {short_lived}}}}}
"""
STREAM = """\
kind: stream
name: {name}
source: {{type: kafka, cluster: fronting, topic: {name}_raw, format: json, schema: ../schemas/raw.avsc}}
hygiene: {{required: [event_id]}}
outputs:
  - name: starts
    filter: "event_type = 'start'"
    project: [event_id, event_ts, "upper(country) AS country"]
    sink: {{type: kafka, cluster: consumer, topic: {name}_starts, format: json, key: event_id}}
"""
TABLE = """\
kind: lake_table
name: {name}_starts
source: {{type: kafka, cluster: consumer, topic: {name}_starts, format: json, schema: ../schemas/starts.avsc}}
table: {{catalog: lake, database: tv, table: starts, partition_by: ["day(__metadata__.kafka_ingestion_ts)"]}}
"""
EVENT_TS = {"name": "event_ts", "type": {"type": "long", "logicalType": "timestamp-micros"}}
COUNTRY = {"name": "country", "type": ["null", "string"], "default": None}
EVENT_ID = {"name": "event_id", "type": "string"}
SCHEMAS = {
    "raw": [EVENT_ID, {"name": "event_type", "type": "string"}, EVENT_TS, COUNTRY],
    "starts": [EVENT_ID, EVENT_TS, COUNTRY],
}


def run(
    script: str, *arguments: str, cwd: Path, stdin: str | None = None, **environment: str
) -> subprocess.CompletedProcess[str]:
    """Run a console script to its end."""
    return subprocess.run(
        [str(BIN / script), *arguments],
        cwd=cwd,
        input=stdin,
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=False,
        env=os.environ | environment,
    )


def write_workspace(
    root: Path, name: str, bootstrap_servers: str, master: str = "local[2]"
) -> Path:
    """Write a workspace with one stream and one table; returns its folder."""
    files = {
        "headrace.yaml": HEADRACE_YAML.format(
            bootstrap=bootstrap_servers, master=master, short_lived=SPARK_CONF
        ),
        "streams/playback.yaml": STREAM.format(name=name),
        "tables/starts.yaml": TABLE.format(name=name),
    }
    for schema, fields in SCHEMAS.items():
        record = {"type": "record", "name": f"tv.{schema}", "fields": fields}
        files[f"schemas/{schema}.avsc"] = json.dumps(record)
    for path, text in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text, encoding="utf-8")
    return root
