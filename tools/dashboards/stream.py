"""The dashboard of streams and their outputs."""

from __future__ import annotations

from typing import Final

from headrace.metrics.definitions import (
    BATCH_DURATION,
    JOB_UP,
    LAG_RECORDS,
    LAG_SECONDS,
    LEDGER_GAP,
    QUARANTINED,
    RECORDS_DROPPED,
    RECORDS_FILTERED,
    RECORDS_IN,
    RECORDS_OUT,
)
from tools.dashboards.panels import COLUMNS, Choice, Dashboard, Panel, Query, durations, rate

WHERE: Final = '{stream=~"$stream",output=~"$output"}'
STREAM: Final = Dashboard(
    "stream",
    (Choice("stream", LEDGER_GAP), Choice("output", LEDGER_GAP)),
    (
        Panel(
            "What becomes of the records",
            "What an output has read is written, filtered, dropped or quarantined: the lines below "
            "«read» add up to it.",
            "reqps",
            [
                Query(rate(RECORDS_IN, "stream, output", WHERE), "{{stream}} {{output}} read"),
                Query(rate(RECORDS_OUT, "stream, output", WHERE), "{{stream}} {{output}} written"),
                Query(
                    rate(RECORDS_FILTERED, "stream, output", WHERE),
                    "{{stream}} {{output}} filtered",
                ),
                Query(
                    rate(RECORDS_DROPPED, "stream, output, reason", WHERE),
                    "{{stream}} {{output}} dropped: {{reason}}",
                ),
                Query(
                    rate(QUARANTINED, "stream, output", WHERE),
                    "{{stream}} {{output}} quarantined",
                ),
            ],
            width=COLUMNS * 2 // 3,
        ),
        Panel(
            "Offsets lost",
            "Offsets that the topic had lost, or replaced, before they were read.",
            "short",
            [Query(f"max by (stream, output) ({LEDGER_GAP.name}{WHERE})", "{{stream}} {{output}}")],
            "stat",
        ),
        Panel(
            "Lag",
            "Offsets between the position and the end of the topic.",
            "short",
            [
                Query(
                    f"max by (stream, output) ({LAG_RECORDS.name}{WHERE})",
                    "{{stream}} {{output}}",
                )
            ],
        ),
        Panel(
            "Lag in time",
            "How long ago the topic held nothing that is not processed by now.",
            "s",
            [
                Query(
                    f"max by (stream, output) ({LAG_SECONDS.name}{WHERE})",
                    "{{stream}} {{output}}",
                )
            ],
        ),
        Panel(
            "Batches",
            "From the planning of a batch to its commit.",
            "s",
            durations(BATCH_DURATION, "stream, output", WHERE),
        ),
        Panel(
            "Quarantine",
            "The share of its records that an output could not have.",
            "percentunit",
            [
                Query(
                    f"{rate(QUARANTINED, 'stream, output', WHERE)} "
                    f"/ ({rate(RECORDS_IN, 'stream, output', WHERE)} > 0)",
                    "{{stream}} {{output}}",
                )
            ],
        ),
        Panel(
            "Running",
            "1 while all outputs of the stream are running.",
            "short",
            [Query(f'min by (name) ({JOB_UP.name}{{kind="stream",name=~"$stream"}})', "{{name}}")],
        ),
    ),
)
