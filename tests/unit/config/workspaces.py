"""A workspace as the data contract shows it, and the means to spoil it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

from headrace.config.validate import check_workspace

if TYPE_CHECKING:
    from pathlib import Path

HEADRACE = """\
clusters:
  fronting: {bootstrap_servers: "127.0.0.1:9092", region: us-east-1, properties: {}}   # librdkafka names
  consumer: {bootstrap_servers: "127.0.0.1:9092"}
catalogs:
  lake: {type: sql, uri: "sqlite:///.headrace/catalog.db", warehouse: ".headrace/warehouse"}
state_dir: .headrace/state          # checkpoints, plans, ledgers
spark: {master: "local[*]", conf: {}}
"""
STREAM = """\
kind: stream
name: playback
source: {type: kafka, cluster: fronting, topic: playback_raw, format: json, schema: schemas/playback.avsc}
hygiene:
  required: [event_id, event_ts]
  max_future_skew: 10min
  on_bad_record: quarantine          # quarantine | drop | fail
  quarantine: {cluster: fronting, topic: playback_raw.quarantine}
outputs:
  - name: starts
    filter: "event_type = 'start'"
    project: [event_id, user_id, title_id, event_ts, "upper(country) AS country"]
    sink: {type: kafka, cluster: consumer, topic: playback_starts, format: json, key: user_id}
overrides: {}                        # by deployment: source, spark conf, trigger
"""
FULL_STREAM = """\
kind: stream
name: full
source:
  type: kafka
  cluster: fronting
  topic: full
  format: avro
  schema: schemas/playback.avsc
  registry: {url: "http://registry:8081"}
  on_data_loss: skip
hygiene:
  required: {columns: [event_id, event_ts], on_bad_record: drop}
  ranges:
    event_ts: {min: "2020-01-01", max: "2030-01-01T00:00:00Z", on_bad_record: drop}
  max_future_skew: {limit: 10min, on_bad_record: drop}
  max_size: {limit: 1MiB, on_bad_record: fail}
  mask: {user_id: {sha256: {salt: "${SALT:pepper}"}}, title_id: redact, country: {keep_first: 1}}
outputs:
  - name: avro
    delivery: exactly_once
    starting_offsets: latest
    sink:
      type: kafka
      cluster: consumer
      topic: full_avro
      format: avro
      registry: {url: "http://registry:8081", subject: full}
      compression: zstd
      key: user_id
  - name: lake
    project: ["*", "event_ts > timestamp'2026-01-01' AS is_new"]
    sink: {type: iceberg, catalog: lake, database: d, table: full, partition_by: [day(event_ts), is_new], target_file_size: 64MiB}
  - name: search
    sink: {type: search, url: "https://elastic:9200", api_key: aWQ6a2V5, ca: house.pem, index: full, id: event_id, batch_rows: 500}
  - name: stream
    sink: {type: stream, stream: playback.yaml, key: user_id}
isolation: stream
delivery: at_least_once
on_conflict: refuse
trigger: 5s
overrides:
  eu-west-1:
    source: {cluster: consumer, topic: full_eu, starting_offsets: latest}
    region: eu-west-1
    trigger: 10s
    spark: {conf: {spark.sql.shuffle.partitions: 8}}
    resources: {memory: 4GiB, cores: 2}
"""
LAKE_TABLE = """\
kind: lake_table
name: playback_starts
source: {type: kafka, cluster: consumer, topic: playback_starts, format: json, schema: schemas/playback.avsc}
table: {catalog: lake, database: playback, table: starts, partition_by: ["day(__metadata__.kafka_ingestion_ts)"], target_file_size: 128MiB}
batch: {max_interval: 1min, max_rows: 5000000}
schema_evolution: add_columns        # none | add_columns | widen
"""
APP = """\
kind: app
name: rmi
sources:
  impressions: {type: dynamic, selected: live-impressions, candidates: [live-impressions, backfill-impressions]}
  live-impressions: {type: kafka, cluster: consumer, topics: impressions, format: json, schema: schemas/playback.avsc}
  backfill-impressions: {type: iceberg, catalog: lake, database: playback, table: impressions, max_misalignment_threshold: 15min}
transform: {python: "rmi:build"}     # build(sources: Sources) -> DataFrame
watermarks: {impressions: {column: event_ts, delay: 10min}}
sink: {type: iceberg, catalog: lake, database: playback, table: rmi_out, mode: append}
"""
AVRO = json.dumps(
    {
        "type": "record",
        "name": "Playback",
        "fields": [
            {"name": "event_id", "type": "string"},
            {"name": "event_type", "type": "string"},
            {"name": "user_id", "type": "string"},
            {"name": "title_id", "type": "string"},
            {"name": "country", "type": ["null", "string"]},
            {"name": "event_ts", "type": {"type": "long", "logicalType": "timestamp-micros"}},
        ],
    }
)
SOUND = {
    "headrace.yaml": HEADRACE,
    "streams/playback.yaml": STREAM,
    "tables/starts.yaml": LAKE_TABLE,
    "apps/rmi.yaml": APP,
    "schemas/playback.avsc": AVRO,
}


@dataclass(frozen=True)
class Files:
    """The files of a workspace under test."""

    root: Path

    def write(self, name: str, content: str | bytes) -> Path:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    def spoil(self, name: str, old: str, new: str) -> None:
        text = (self.root / name).read_text()
        assert text.count(old) == 1, (old, text.count(old))
        self.write(name, text.replace(old, new))

    def problems(self) -> list[str]:
        return [str(problem) for problem in check_workspace(self.root).problems]
