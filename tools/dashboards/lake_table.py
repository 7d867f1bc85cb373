"""The dashboard of lake tables."""

from __future__ import annotations

from typing import Final

from headrace.metrics.definitions import (
    BATCH_DURATION,
    COMMIT_DURATION,
    COMMITTED_BYTES,
    COMMITTED_FILES,
    COMMITTED_ROWS,
    LAG_RECORDS,
    QUARANTINED,
    RECORDS_DROPPED,
    RECORDS_IN,
    SINCE_LAST_COMMIT,
    TABLE_COMPLETE_UP_TO,
)
from tools.dashboards.panels import Choice, Dashboard, Panel, Query, durations, rate

WHERE: Final = '{table=~"$table"}'
TABLE: Final = Dashboard(
    "lake-table",
    (Choice("table", COMMITTED_ROWS),),
    (
        Panel(
            "Not complete for",
            "How old the time is up to which the table has every record.",
            "s",
            [Query(f"time() - max by (table) ({TABLE_COMPLETE_UP_TO.name}{WHERE})", "{{table}}")],
        ),
        Panel(
            "Since the last commit of rows",
            "It also grows while the topic has no records.",
            "s",
            [Query(f"min by (table) ({SINCE_LAST_COMMIT.name}{WHERE})", "{{table}}")],
        ),
        Panel(
            "Lag",
            "Offsets between the position and the end of the topic.",
            "short",
            [Query(f"max by (table) ({LAG_RECORDS.name}{WHERE})", "{{table}}")],
        ),
        Panel(
            "Rows",
            "Records that were read, and rows that were committed.",
            "wps",
            [
                Query(rate(RECORDS_IN, "table", WHERE), "{{table}} read"),
                Query(rate(COMMITTED_ROWS, "table", WHERE), "{{table}} committed"),
            ],
        ),
        Panel(
            "Bytes",
            "Bytes of the data files that were committed.",
            "Bps",
            [Query(rate(COMMITTED_BYTES, "table", WHERE), "{{table}}")],
        ),
        Panel(
            "Size of a file",
            "The mean of the files that were committed.",
            "bytes",
            [
                Query(
                    f"{rate(COMMITTED_BYTES, 'table', WHERE)} "
                    f"/ ({rate(COMMITTED_FILES, 'table', WHERE)} > 0)",
                    "{{table}}",
                )
            ],
        ),
        Panel(
            "Commits",
            "How long a commit to the catalog takes, with its attempts.",
            "s",
            durations(COMMIT_DURATION, "table", WHERE),
        ),
        Panel(
            "Batches",
            "From the planning of a batch to its commit.",
            "s",
            durations(BATCH_DURATION, "table", WHERE),
        ),
        Panel(
            "Rejected records",
            "Records that went into the quarantine, and records that were dropped.",
            "reqps",
            [
                Query(rate(QUARANTINED, "table", WHERE), "{{table}} quarantined"),
                Query(rate(RECORDS_DROPPED, "table", WHERE), "{{table}} dropped"),
            ],
        ),
    ),
)
