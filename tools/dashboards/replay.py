"""The dashboard of replays."""

from __future__ import annotations

from typing import Final

from headrace.metrics.definitions import (
    BACKFILL_ETA,
    BACKFILL_FILES,
    BACKFILL_FILES_DONE,
    BACKFILL_FRONTIER,
    BACKFILL_PROGRESS,
    RECORDS_IN,
    WATERMARK,
    WATERMARK_DRIFT,
)
from tools.dashboards.panels import COLUMNS, Choice, Dashboard, Panel, Query, rate

WHERE: Final = '{replay=~"$replay"}'
REPLAY: Final = Dashboard(
    "replay",
    (Choice("replay", BACKFILL_PROGRESS),),
    (
        Panel(
            "Progress",
            "Steps that are delivered, of those of the plan.",
            "percentunit",
            [Query(f"{BACKFILL_PROGRESS.name}{WHERE}", "{{replay}}")],
        ),
        Panel(
            "Time left",
            "At the speed so far.",
            "s",
            [Query(f"{BACKFILL_ETA.name}{WHERE}", "{{replay}}")],
        ),
        Panel(
            "Rows",
            "Rows that are delivered.",
            "reqps",
            [Query(rate(RECORDS_IN, "replay", WHERE), "{{replay}}")],
        ),
        Panel(
            "Frontier and watermarks",
            "Every record before the frontier is delivered; a watermark is the newest record of a "
            "source that was.",
            "dateTimeAsIso",
            [
                Query(f"1000 * {BACKFILL_FRONTIER.name}{WHERE}", "{{replay}} frontier"),
                Query(f"1000 * {WATERMARK.name}{WHERE}", "{{replay}} {{source}}"),
            ],
            width=COLUMNS * 2 // 3,
        ),
        Panel(
            "Drift",
            "How far apart the newest records of the sources are: at most the threshold.",
            "s",
            [Query(f"{WATERMARK_DRIFT.name}{WHERE}", "{{replay}}")],
        ),
        Panel(
            "Files",
            "Data files of the plan, and those of which everything is delivered.",
            "short",
            [
                Query(f"{BACKFILL_FILES.name}{WHERE}", "{{replay}} planned"),
                Query(f"{BACKFILL_FILES_DONE.name}{WHERE}", "{{replay}} done"),
            ],
        ),
    ),
)
