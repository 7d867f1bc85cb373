"""The dashboard of applications."""

from __future__ import annotations

from typing import Final

from headrace.metrics.definitions import (
    BATCH_DURATION,
    RECORDS_IN,
    WATERMARK,
)
from tools.dashboards.panels import Choice, Dashboard, Panel, Query, durations, rate

WHERE: Final = '{app=~"$app"}'
APP: Final = Dashboard(
    "application",
    (Choice("app", RECORDS_IN),),
    (
        Panel(
            "Rows",
            "Rows that its query has read.",
            "reqps",
            [Query(rate(RECORDS_IN, "app", WHERE), "{{app}}")],
        ),
        Panel(
            "Batches",
            "How long a batch takes.",
            "s",
            durations(BATCH_DURATION, "app", WHERE),
        ),
        Panel(
            "Age of the watermark",
            "Records that are older are late.",
            "s",
            [
                Query(
                    f"time() - min by (app, source) ({WATERMARK.name}{WHERE})", "{{app}} {{source}}"
                )
            ],
        ),
    ),
)
