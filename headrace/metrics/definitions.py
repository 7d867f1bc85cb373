"""All metrics, in one list: docs/metrics.md is made from it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal


@dataclass(frozen=True, slots=True)
class Metric:
    """A name that does not change between minor versions, and what it says.

    `labels` are all that it may have: a stream's has `stream` and `output`, a lake table's `table`.
    """

    name: str
    kind: Literal["counter", "gauge", "histogram"]
    labels: tuple[str, ...]
    help: str


_OUTPUT = ("stream", "output")
_OUTPUT_OR_TABLE = (*_OUTPUT, "table")
_READER = (*_OUTPUT_OR_TABLE, "app", "replay")

BUILD_INFO: Final = Metric(
    "headrace_build_info", "gauge", ("version",), "1, with the version of headrace as a label."
)
JOB_UP: Final = Metric(
    "headrace_job_up",
    "gauge",
    ("kind", "name"),
    "1 while all of it is at work; 0 while it starts, or some of it rests after a failure.",
)
RECORDS_IN: Final = Metric(
    "headrace_records_in_total",
    "counter",
    _READER,
    "Records that were read. Each output of a stream counts what it has read itself; what it has "
    "read is out, filtered, dropped or quarantined.",
)
RECORDS_OUT: Final = Metric(
    "headrace_records_out_total",
    "counter",
    _OUTPUT,
    "Records that an output has written. Of the output `quarantine`: those that no output "
    "could have.",
)
RECORDS_FILTERED: Final = Metric(
    "headrace_records_filtered_total",
    "counter",
    _OUTPUT,
    "Records that an output's filter has left out.",
)
RECORDS_DROPPED: Final = Metric(
    "headrace_records_dropped_total",
    "counter",
    (*_OUTPUT_OR_TABLE, "reason"),
    "Rejected records that are kept nowhere (on_bad_record: drop), by the rule that they break.",
)
QUARANTINED: Final = Metric(
    "headrace_quarantined_total",
    "counter",
    _OUTPUT_OR_TABLE,
    "Rejected records that an output, or a lake table, has to do without; they are in the "
    "quarantine. One that could not be read is counted by each output.",
)
BATCH_DURATION: Final = Metric(
    "headrace_batch_duration_seconds",
    "histogram",
    (*_OUTPUT_OR_TABLE, "app"),
    "How long a batch takes, from its planning to its commit. Outputs that share a job share its "
    "batches.",
)
LAG_RECORDS: Final = Metric(
    "headrace_source_lag_records",
    "gauge",
    _OUTPUT_OR_TABLE,
    "Offsets between the position and the end of the topic, when it was last looked at.",
)
LAG_SECONDS: Final = Metric(
    "headrace_source_lag_seconds",
    "gauge",
    _OUTPUT_OR_TABLE,
    "How long ago the topic was looked at last that all it held then is processed by now.",
)
LEDGER_GAP: Final = Metric(
    "headrace_ledger_gap_offsets",
    "gauge",
    _OUTPUT,
    "Offsets that the topic had lost, or replaced, before they were read "
    "(on_data_loss: skip); the ledger names them.",
)
COMMIT_DURATION: Final = Metric(
    "headrace_commit_duration_seconds",
    "histogram",
    ("table",),
    "How long a commit to the table's catalog takes, with its attempts.",
)
COMMITTED_ROWS: Final = Metric(
    "headrace_committed_rows_total", "counter", ("table",), "Rows that were committed."
)
COMMITTED_BYTES: Final = Metric(
    "headrace_committed_bytes_total", "counter", ("table",), "Bytes of the files of these rows."
)
COMMITTED_FILES: Final = Metric(
    "headrace_committed_files_total", "counter", ("table",), "Data files that were committed."
)
TABLE_COMPLETE_UP_TO: Final = Metric(
    "headrace_table_complete_up_to_timestamp_seconds",
    "gauge",
    ("table",),
    "Every record that arrived before this time is in the table (Unix time).",
)
SINCE_LAST_COMMIT: Final = Metric(
    "headrace_table_seconds_since_last_commit",
    "gauge",
    ("table",),
    "How long ago the writer committed rows last. It grows while the topic has none.",
)
WATERMARK: Final = Metric(
    "headrace_watermark_timestamp_seconds",
    "gauge",
    ("app", "replay", "source"),
    "Of an application, the watermark of its query, which holds for all of its sources (Unix "
    "time); without `source` where there are several. Of a replay, the newest record of a source "
    "that was delivered.",
)
WATERMARK_DRIFT: Final = Metric(
    "headrace_watermark_drift_seconds",
    "gauge",
    ("replay",),
    "How far apart the newest records of a replay's sources are.",
)
BACKFILL_FILES: Final = Metric(
    "headrace_backfill_files_total", "gauge", ("replay",), "Data files of a replay's plan."
)
BACKFILL_FILES_DONE: Final = Metric(
    "headrace_backfill_files_done",
    "gauge",
    ("replay",),
    "Data files of which everything is delivered.",
)
BACKFILL_PROGRESS: Final = Metric(
    "headrace_backfill_progress_ratio",
    "gauge",
    ("replay",),
    "Steps that are delivered, of those of the plan: 0 to 1.",
)
BACKFILL_ETA: Final = Metric(
    "headrace_backfill_eta_seconds",
    "gauge",
    ("replay",),
    "How long the rest of a replay takes at its speed so far.",
)
BACKFILL_FRONTIER: Final = Metric(
    "headrace_backfill_frontier_timestamp_seconds",
    "gauge",
    ("replay",),
    "Every record before this time is delivered (Unix time).",
)
LINEAGE_EVENTS: Final = Metric(
    "headrace_lineage_events_total",
    "counter",
    ("outcome",),
    "Events of OpenLineage: sent, or lost because the receiver was away or refused them.",
)
_RUN = ("kind", "name")
LAST_RUN_SUCCESS: Final = Metric(
    "headrace_last_run_success",
    "gauge",
    _RUN,
    "1 if the command ended with exit code 0, else 0. This one and the next two are in the metrics "
    "of a command that has ended (`--metrics-file`, `--metrics-push`), and in no others.",
)
LAST_RUN_END: Final = Metric(
    "headrace_last_run_timestamp_seconds", "gauge", _RUN, "When the command ended (Unix time)."
)
LAST_RUN_DURATION: Final = Metric(
    "headrace_last_run_duration_seconds", "gauge", _RUN, "How long the command took."
)

METRICS: Final = (
    BUILD_INFO,
    JOB_UP,
    RECORDS_IN,
    RECORDS_OUT,
    RECORDS_FILTERED,
    RECORDS_DROPPED,
    QUARANTINED,
    BATCH_DURATION,
    LAG_RECORDS,
    LAG_SECONDS,
    LEDGER_GAP,
    COMMIT_DURATION,
    COMMITTED_ROWS,
    COMMITTED_BYTES,
    COMMITTED_FILES,
    TABLE_COMPLETE_UP_TO,
    SINCE_LAST_COMMIT,
    WATERMARK,
    WATERMARK_DRIFT,
    BACKFILL_FILES,
    BACKFILL_FILES_DONE,
    BACKFILL_PROGRESS,
    BACKFILL_ETA,
    BACKFILL_FRONTIER,
    LINEAGE_EVENTS,
    LAST_RUN_SUCCESS,
    LAST_RUN_END,
    LAST_RUN_DURATION,
)
