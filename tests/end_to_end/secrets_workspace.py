"""A workspace in which every setting that may be a secret is one, and everything works."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

from tests.short_lived import SPARK_CONF

if TYPE_CHECKING:
    from pathlib import Path

# Of letters and digits alone, so that no URL and no JSON writes it in another way.
CANARY: Final = "c4n4ryThatNobodyMaySee"
ROWS: Final = 40

HEADRACE_YAML = """\
clusters:
  fronting:
    bootstrap_servers: "{bootstrap}"
    region: us-east-1
    properties: {{sasl.password: "${{file:{file}}}", ssl.key.password: "${{file:{file}}}"}}
  consumer:
    bootstrap_servers: "{bootstrap}"
    properties: {{sasl.password: "${{file:{file}}}"}}
catalogs:
  lake: {{type: sql, uri: "{catalog}", warehouse: ".headrace/warehouse", adls.account-key: "${{file:{file}}}"}}
  own: {{type: sql, uri: "sqlite:///.headrace/catalog.db", warehouse: ".headrace/own", adls.account-key: "${{file:{file}}}"}}
spark:
  master: "local[2]"
  conf: {{spark.driver.memory: 768m, {short_lived}, spark.hadoop.fs.s3a.secret.key: "${{file:{file}}}"}}
lineage: {{url: "{lineage}", api_key: "${{file:{file}}}"}}
"""
STREAM = """\
kind: stream
name: plays
source: {{type: kafka, cluster: fronting, topic: secret_plays, format: json, schema: {{registry: {{url: "{registry}", subject: plays-value}}}}}}
hygiene:
  required: [event_id]
  mask: {{user_id: {{sha256: {{salt: "${{file:{file}}}"}}}}}}
outputs:
  - name: starts
    filter: "event_type = 'start'"
    project: [event_id, user_id, event_ts]
    sink: {{type: kafka, cluster: consumer, topic: plays_starts, format: avro, key: event_id, registry: {{url: "{registry}"}}}}
  - name: found
    sink: {{type: search, url: "{search}", index: plays, id: event_id}}
  - name: keyed
    sink: {{type: search, url: "{keyed}", api_key: "${{file:{file}}}", index: keyed}}
"""
TABLE = """\
kind: lake_table
name: plays_starts
source: {{type: kafka, cluster: consumer, topic: plays_starts, format: avro, schema: {{registry: {{url: "{registry}", subject: plays_starts-value}}}}}}
table: {{catalog: lake, database: tv, table: starts}}
"""
APPLICATION = """\
kind: app
name: counts
sources:
  starts: {{type: dynamic, selected: live, candidates: [live, past]}}
  live: {{type: kafka, cluster: consumer, topics: plays_starts, format: avro, schema: {{registry: {{url: "{registry}", subject: plays_starts-value}}}}}}
  past: {{type: iceberg, catalog: lake, database: tv, table: starts}}
watermarks: {{starts: {{column: event_ts, delay: 10min}}}}
transform:
  sql: "SELECT event_id, event_ts, user_id FROM starts"
sink: {{type: iceberg, catalog: lake, database: tv, table: counts, mode: replace, time_column: event_ts}}
"""
SCHEMA: Final = {
    "type": "record",
    "name": "tv.Play",
    "fields": [
        {"name": "event_id", "type": "string"},
        {"name": "event_type", "type": "string"},
        {"name": "event_ts", "type": {"type": "long", "logicalType": "timestamp-micros"}},
        {"name": "user_id", "type": ["null", "string"], "default": None},
    ],
}
T0_US: Final = 1_772_323_200_000_000


def write(root: Path, file: Path, **addresses: str) -> None:
    """Write the workspace; the secret is in a file outside of it."""
    file.write_text(CANARY, encoding="utf-8")
    texts = {
        "headrace.yaml": HEADRACE_YAML,
        "streams/plays.yaml": STREAM,
        "tables/starts.yaml": TABLE,
        "apps/counts.yaml": APPLICATION,
    }
    for name, text in texts.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(
            text.format(file=file, short_lived=SPARK_CONF, **addresses), encoding="utf-8"
        )
    events = [_event(number) for number in range(ROWS)]
    (root / "one.json").write_text(events[0], encoding="utf-8")
    lines = [*events, "no json", '{"event_id":null}']
    (root / "events.jsonl").write_text("\n".join(lines), encoding="utf-8")


def _event(number: int) -> str:
    kind = "start" if number % 2 else "stop"
    return json.dumps(
        {
            "event_id": f"e{number}",
            "event_type": kind,
            "event_ts": T0_US + number,
            "user_id": f"u{number}",
        }
    )
