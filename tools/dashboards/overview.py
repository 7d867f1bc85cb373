"""The dashboard of the whole workspace: what is wrong first."""

from __future__ import annotations

from typing import Final

from headrace.metrics.definitions import (
    BACKFILL_PROGRESS,
    BATCH_DURATION,
    JOB_UP,
    LAG_SECONDS,
    LAST_RUN_DURATION,
    LAST_RUN_END,
    LAST_RUN_SUCCESS,
    LEDGER_GAP,
    LINEAGE_EVENTS,
    QUARANTINED,
    RECORDS_DROPPED,
    RECORDS_IN,
    TABLE_COMPLETE_UP_TO,
)
from tools.dashboards.panels import COLUMNS, Dashboard, Panel, Query, quantile, rate

MOST: Final = 20
OVERVIEW: Final = Dashboard(
    "overview",
    (),
    (
        Panel(
            "Not running",
            "Streams, lake tables, applications and replays that start, or wait after a failure.",
            "short",
            [Query(f"count({JOB_UP.name} == 0) or vector(0)", "jobs")],
            "stat",
            COLUMNS // 4,
        ),
        Panel(
            "Offsets lost",
            "Offsets that topics had lost before they were read.",
            "short",
            [Query(f"sum(max by (stream, output) ({LEDGER_GAP.name})) or vector(0)", "offsets")],
            "stat",
            COLUMNS // 4,
        ),
        Panel(
            "Alerts that fire",
            "By deploy/prometheus/headrace.rules.yaml.",
            "short",
            [
                Query(
                    'sum by (alertname, stream, output, table, app, replay, name) (ALERTS{alertname=~"Headrace.*",alertstate="firing"})',
                    "{{alertname}}",
                )
            ],
            "table",
            COLUMNS // 2,
        ),
        Panel(
            "Records read",
            f"By stream, lake table, application and replay: the {MOST} with most.",
            "reqps",
            [
                Query(
                    f"topk({MOST}, {rate(RECORDS_IN, 'stream, output, table, app, replay')})",
                    "{{stream}} {{output}} {{table}} {{app}} {{replay}}",
                )
            ],
        ),
        Panel(
            "Lag of streams",
            f"The {MOST} outputs that are furthest behind.",
            "s",
            [
                Query(
                    f'topk({MOST}, max by (stream, output) ({LAG_SECONDS.name}{{stream!=""}}))',
                    "{{stream}} {{output}}",
                )
            ],
        ),
        Panel(
            "Tables: not complete for",
            f"How old the time is up to which a table has everything: the {MOST} oldest.",
            "s",
            [
                Query(
                    f"topk({MOST}, time() - max by (table) ({TABLE_COMPLETE_UP_TO.name}))",
                    "{{table}}",
                )
            ],
        ),
        Panel(
            "Rejected records",
            "Records that went into a quarantine, and records that were dropped.",
            "reqps",
            [
                Query(
                    f"topk({MOST}, {rate(QUARANTINED, 'stream, output, table')} > 0)",
                    "quarantined {{stream}} {{output}} {{table}}",
                ),
                Query(
                    f"topk({MOST}, {rate(RECORDS_DROPPED, 'stream, output, table, reason')} > 0)",
                    "dropped {{stream}} {{output}} {{table}}: {{reason}}",
                ),
            ],
        ),
        Panel(
            "Batches, 95 %",
            f"How long a batch takes: the {MOST} slowest.",
            "s",
            [
                Query(
                    f"topk({MOST}, {quantile(BATCH_DURATION, 0.95, 'stream, output, table, app', '')})",
                    "{{stream}} {{output}} {{table}} {{app}}",
                )
            ],
        ),
        Panel(
            "Replays",
            "Steps that are delivered, of those of the plan.",
            "percentunit",
            [Query(f"max by (replay) ({BACKFILL_PROGRESS.name})", "{{replay}}")],
        ),
        Panel(
            "Events of lineage",
            "Sent to the receiver of OpenLineage, and lost because it was away or refused them.",
            "reqps",
            [Query(rate(LINEAGE_EVENTS, "outcome"), "{{outcome}}")],
        ),
        Panel(
            "Runs that failed",
            "Of commands that end: those whose last run has failed.",
            "short",
            [Query(f"{LAST_RUN_SUCCESS.name} == 0", "{{kind}} {{name}}")],
            "table",
            COLUMNS // 2,
        ),
        Panel(
            "Last runs",
            "Of commands that end: how long ago, and how long they took.",
            "s",
            [
                Query(f"time() - {LAST_RUN_END.name}", "{{kind}} {{name}} ended"),
                Query(LAST_RUN_DURATION.name, "{{kind}} {{name}} took"),
            ],
            width=COLUMNS // 2,
        ),
    ),
)
